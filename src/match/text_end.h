/* SPDX-License-Identifier: BSD-2-Clause */
/* What table_is.h and compact_is.h define. */
#undef T
#undef T_NODE
#undef T_LINK
#undef T_BEHIND
#undef T_MEMBERS
#undef T_VIEW
#undef T_VIEW_OF
#undef T_AT
#undef T_ADDR
#undef T_BEFORE
#undef T_AFTER
#undef T_JOIN
#undef T_COPY
