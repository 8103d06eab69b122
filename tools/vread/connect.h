/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * connect.h - options and connection of commands that open blocks.  Called by `vread stat`,
 * `vread cat` and `vread publish`.
 */
#ifndef VREAD_CLI_CONNECT_H
#define VREAD_CLI_CONNECT_H

#include <getopt.h>
#include <stdbool.h>

#include "block_spec.h"
#include "vread.h"

struct reader_options {
	struct vread_options library;
	struct block_list blocks;
};

enum { OPTION_ENDPOINT = 1000, OPTION_TIMEOUT, OPTION_BLOCKS_FROM };

#define READER_OPTIONS                                                     \
	{"endpoint", required_argument, NULL, OPTION_ENDPOINT},            \
		{"timeout", required_argument, NULL, OPTION_TIMEOUT},      \
	{                                                                  \
		"blocks-from", required_argument, NULL, OPTION_BLOCKS_FROM \
	}

#define READER_OPTIONS_HELP                                                                 \
	"  --endpoint PATH      device or socket (default $VREAD_ENDPOINT or /dev/vread)\n" \
	"  --timeout MS         longest wait for one answer (default 2000)\n"               \
	"  --blocks-from FILE   more blocks, one per line; -: standard input\n"

/* Handles one of READER_OPTIONS: 0 or an exit code. */
int reader_option(struct reader_options *o, int option, const char *value);
/* Takes the remaining arguments as blocks.  0, or an exit code, also if no block was given. */
int reader_arguments(struct reader_options *o, int argc, char **argv);

/* Connects with at least `least` bytes of pool, and sets library.pool_bytes to what there is.  0,
 * or an exit code after printing why not. */
int reader_connect(struct reader_options *o, size_t least, struct vread **ret);
/* encrypt: bytes of another host must come encrypted.  0 or negative errno.  Prints nothing. */
int reader_open(struct vread *v, const struct block_spec *spec, bool encrypt,
		struct vread_file **ret);
/* Prints why a block could not be read.  Returns the exit code. */
int reader_failed(const struct block_spec *spec, int error);

#endif
