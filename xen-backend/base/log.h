/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - one line of text per event, on stderr.
 *
 * Where stderr is the systemd journal ($JOURNAL_STREAM names it) lines start
 * with sd-daemon(3)'s "<priority>"; elsewhere with the program's name and,
 * for all but information, the level.  A line goes out in one write(2), so
 * lines of several threads never mix.  Control characters are replaced by '?':
 * names out of guests and images cannot forge lines.
 */
#ifndef VREAD_LOG_H
#define VREAD_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Name in front of plain lines; static string.  Default: the program's own. */
void log_set_name(const char *name);
/* Lines of a lower level than this are dropped.  Default: LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* No newline at the end of the format; errno is left alone. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
