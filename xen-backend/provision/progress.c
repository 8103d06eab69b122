// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * progress.c - progress on stderr: see progress.h.  main.c, appliance.c, inspect.c and search.c
 * call it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "provision/progress.h"

static bool quiet, terminal, line_open;
static char step[256];
static struct timespec began;

void progress_init(bool is_quiet)
{
	quiet = is_quiet;
	terminal = isatty(STDERR_FILENO);
	clock_gettime(CLOCK_MONOTONIC, &began);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - began.tv_sec) + (double)(now.tv_nsec - began.tv_nsec) / 1e9;
}

void progress_done(void)
{
	if (line_open)
		fputc('\n', stderr);
	line_open = false;
}

void progress_step(const char *format, ...)
{
	va_list args;

	if (quiet)
		return;
	va_start(args, format);
	vsnprintf(step, sizeof(step), format, args);
	va_end(args);
	progress_done();
	fprintf(stderr, "[%5.1f s] %s", seconds(), step);
	line_open = true;
	if (!terminal)
		progress_done();
}

void progress_tick(int percent)
{
	if (quiet || !terminal)
		return;
	fprintf(stderr, "\r[%5.1f s] %s", seconds(), step);
	if (percent >= 0)
		fprintf(stderr, " %3d %%", percent);
	line_open = true;
}

void progress_warn(const char *format, ...)
{
	va_list args;

	progress_done();
	fputs("vread-provision: warning: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}
