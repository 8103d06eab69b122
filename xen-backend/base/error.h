/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * error.h - an error number with a sentence for the operator.  The functions that return a negative
 * errno and set a ret_error call it.
 */
#ifndef VREAD_BASE_ERROR_H
#define VREAD_BASE_ERROR_H

/* Frees the old *ret_error, formats a new one (malloc()ed; NULL when out of memory) and returns
 * error, so that a function can end in `return error_text(...)`.  ret_error may be NULL. */
int error_text(char **ret_error, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
