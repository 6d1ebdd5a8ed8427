/* SPDX-License-Identifier: BSD-2-Clause */
/* For table_text.h and table_body.h: links are handles of objects. */
#define T(name)            wf_match_compact##name
#define T_NODE             struct wf_match_compact_node
#define T_LINK             uint32_t
#define T_BEHIND           WF_MATCH_COMPACT_BEHIND
#define T_MEMBERS          const struct wf_handles *handles;
#define T_VIEW             struct wf_handles_view
#define T_VIEW_OF(t)       wf_handles_view((t)->handles)
#define T_AT(view, link)   wf_match_compact_at(view, link)
#define T_ADDR(node)       wf_match_compact_addr(node)
#define T_BEFORE(node)     (node)->before
#define T_AFTER(node)      (node)->after
#define T_JOIN(view, a, b) wf_match_compact_join(view, a, b)
#define T_COPY(t)          .handles = (t)->handles,
