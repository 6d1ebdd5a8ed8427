/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a file that objects/atomic/types.inl includes. */

#undef FN
#undef JOIN
#undef JOIN_
#undef NAME
#undef T
#undef WORD
#undef WIDE
#undef ORDERED
#undef UNSIGNED
#undef PARTS
#undef PART_BYTES
