// SPDX-License-Identifier: GPL-2.0-or-later
/* findings.c - implements the section "findings" of doctor.h.  Called by the checks of
 * vread/doctor/ and xl-vread/doctor/. */
#include "cli/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>

static void find(struct doctor *d, const char *result, const char *object, const char *remedy,
		 const char *format, va_list args)
{
	char found[1024];
	json_t *finding;

	vsnprintf(found, sizeof(found), format, args);
	finding = json_pack("{s:s, s:s, s:s, s:s, s:s*}", "check", d->check, "result", result,
			    "object", object, "found", found, "remedy", remedy);
	if (!finding) /* a name that is not UTF-8 */
		finding = json_pack("{s:s, s:s, s:s, s:s}", "check", d->check, "result", result,
				    "object", "-", "found", "a name that is not UTF-8");
	json_array_append_new(d->findings, finding);
}

void doctor_ok(struct doctor *d, const char *object, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	find(d, "ok", object, NULL, format, args);
	va_end(args);
}

void doctor_skip(struct doctor *d, const char *object, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	find(d, "not applicable", object, NULL, format, args);
	va_end(args);
}

void doctor_warn(struct doctor *d, const char *object, const char *remedy, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	find(d, "warning", object, remedy, format, args);
	va_end(args);
}

void doctor_fail(struct doctor *d, const char *object, const char *remedy, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	find(d, "failed", object, remedy, format, args);
	va_end(args);
}
