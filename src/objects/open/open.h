/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_OPEN_OPEN_H
#define WF_OBJECTS_OPEN_OPEN_H

#include "objects/domain/domain.h"

/* The tables that an open domain carries; domain.c has its life cycle. */
extern struct fi_ops wf_domain_fid_ops;
extern struct fi_ops_domain wf_domain_ops;

int wf_domain_close(struct fid *fid);

#endif
