// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An error number with a text; see error.h.  Functions with a ret_error call it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

int error_text(char **ret_error, int error, const char *format, ...)
{
	va_list args;

	if (!ret_error)
		return error;
	free(*ret_error);
	va_start(args, format);
	if (vasprintf(ret_error, format, args) < 0)
		*ret_error = NULL;
	va_end(args);
	return error;
}
