/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_INFO_WORDS_H
#define TOOLS_INFO_WORDS_H

#include <stdint.h>

/* One name that a command line may use, in any case, and what it stands for. */
struct word {
	const char *name;
	uint64_t value;
};

/* A set of names, and its title for the message about an unknown name. */
struct vocabulary {
	const char *kind;
	const struct word *words; /* ends with a NULL name */
};

extern const struct vocabulary word_caps;
extern const struct vocabulary word_modes;
extern const struct vocabulary word_ep_types;
extern const struct vocabulary word_addr_formats;

/* Parse names. -EINVAL, with a message on stderr: a name is not known. */
int word_value(
	const struct vocabulary *vocabulary, const char *text, uint64_t *ret_value);

/* ORs the values of the `|` separated names of @text into @flags. */
int word_flags(const struct vocabulary *vocabulary, const char *text, uint64_t *flags);

#endif
