/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_strerror: the text of an error code. Everything goes to stdout, because scripts
 * capture only that.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

static void strerror_usage(void)
{
	puts("Usage: fi_strerror FI_ERROR_CODE\n"
	     "\n"
	     "Print the text of a libfabric error code, given as a decimal,\n"
	     "hexadecimal (0x) or octal (leading 0) number. The sign is ignored.\n"
	     "\n"
	     "  -h, --help  show this text and exit");
}

/* Returns false after saying what is wrong with @text. */
static bool strerror_parse_code(const char *text, int *ret_code)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 0);
	if (end == text || *end) {
		printf("ERROR: unable to parse '%s'\n\n", text);
		return false;
	}
	if (errno == ERANGE || value > INT_MAX || value < -INT_MAX) {
		printf("ERROR: '%s' is out of range\n\n", text);
		return false;
	}
	*ret_code = (int)labs(value);
	return true;
}

int main(int argc, char **argv)
{
	int code;

	if (argc != 2) {
		strerror_usage();
		return EXIT_FAILURE;
	}
	/* No getopt: -5 is a code, not an option. */
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")) {
		strerror_usage();
		return EXIT_SUCCESS;
	}
	if (!strerror_parse_code(argv[1], &code)) {
		strerror_usage();
		return EXIT_FAILURE;
	}
	puts(fi_strerror(code));
	return EXIT_SUCCESS;
}
