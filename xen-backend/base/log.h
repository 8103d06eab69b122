/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - one line of text per event, on stderr.
 *
 * Where stderr is the systemd journal ($JOURNAL_STREAM names it) lines start
 * with sd-daemon(3)'s "<priority>", or, after log_use_journal(), become entries
 * with fields: what the line names first ("datanode dn1: ...", "peer host-b: ...",
 * "xen:7/0: ...") is VREAD_DATANODE, VREAD_PEER, or VREAD_DEVICE and VREAD_DOMID,
 * and events have a MESSAGE_ID.  Elsewhere lines start with the program's name and,
 * for all but information, the level.  A line goes out in one write(2), so
 * lines of several threads never mix.  Control characters are replaced by '?':
 * names out of guests and images cannot forge lines.
 */
#ifndef VREAD_LOG_H
#define VREAD_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* What operators and their programs wait for; vreadd(8) lists the MESSAGE_IDs. */
enum log_event {
	LOG_EVENT_READY,
	LOG_EVENT_DATANODE_REFUSED,
	LOG_EVENT_DATANODE_MISSING, /* not all of it is served */
	LOG_EVENT_PARSER_RESTARTED,
	LOG_EVENT_DEVICE_CONNECTED,
	LOG_EVENT_DEVICE_REFUSED,
	LOG_EVENT_PEER_FAILED,
	LOG_EVENTS, /* how many there are; also: a line that is none of them */
};

/* Name in front of plain lines; static string.  Default: the program's own. */
void log_set_name(const char *name);
/* Lines of a lower level than this are dropped.  Default: LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Entries with fields instead of lines where stderr is the journal: before the first line, and not
 * in a process that may not open sockets. */
void log_use_journal(void);

/* No newline at the end of the format; errno is left alone. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_event(enum log_event event, enum log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
