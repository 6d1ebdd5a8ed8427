/* SPDX-License-Identifier: BSD-2-Clause */
/* For table_text.h and table_body.h: links are pointers. */
#define T(name)  wf_match_table##name
#define T_NODE   struct wf_match_node
#define T_LINK   struct wf_match_node *
#define T_BEHIND (&wf_match_behind)
#define T_MEMBERS
#define T_VIEW             const struct wf_match_table *
#define T_VIEW_OF(t)       (t)
#define T_AT(view, link)   wf_match_table_at(view, link)
#define T_ADDR(node)       (node)->addr
#define T_BEFORE(node)     wf_match_ring_node((node)->ring.prev)
#define T_AFTER(node)      wf_match_ring_node((node)->ring.next)
#define T_JOIN(view, a, b) wf_match_ring_join(a, b)
#define T_COPY(t)
