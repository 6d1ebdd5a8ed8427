/* SPDX-License-Identifier: BSD-2-Clause */
/* For table_text.h and table_body.h: links are names of objects. */
#define T(name)            wf_match_tight##name
#define T_NODE             struct wf_match_tight_node
#define T_LINK             uint32_t
#define T_BEHIND           WF_MATCH_TIGHT_BEHIND
#define T_MEMBERS          const struct wf_names *names;
#define T_VIEW             struct wf_names_view
#define T_VIEW_OF(t)       wf_names_view((t)->names)
#define T_AT(view, link)   wf_match_tight_at(view, link)
#define T_ADDR(node)       wf_match_tight_addr(node)
#define T_BEFORE(node)     (node)->before
#define T_AFTER(node)      (node)->after
#define T_JOIN(view, a, b) wf_match_tight_join(view, a, b)
#define T_COPY(t)          .names = (t)->names,
