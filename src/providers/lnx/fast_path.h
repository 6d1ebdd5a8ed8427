/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_FAST_PATH_H
#define WF_LNX_FAST_PATH_H

#include "providers/lnx/endpoint.h"

/* The fast path over builtin members. Control calls. */

/* Link the queues and counters of a builtin member with the application's. Called again
 * when a counter was bound later. For a member of another library it does nothing. */
void lnx_fast_path_link(struct lnx_ep *ep, struct lnx_rail *rail);

/* All rails are enabled: decide how small messages leave over each of them. */
void lnx_fast_path_enabled(struct lnx_ep *ep);

/* Hook of struct wf_xfer_ops (tables_finished): set the calls that have a fast path. */
void lnx_fast_path_finish(struct wf_ep *ep);

#endif
