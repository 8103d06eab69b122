/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - one line of text per event, on stderr.  All of vreadd calls it, and `xl-vread blocks`.
 *
 * Stderr is the systemd journal if $JOURNAL_STREAM names it.  Then lines start with sd-daemon(3)'s
 * "<priority>".  After log_use_journal() lines become journal entries with fields instead: the
 * datanode, peer or device that a line is about is in VREAD_DATANODE, VREAD_PEER, or VREAD_DEVICE
 * and VREAD_DOMID.  Events have a MESSAGE_ID.
 *
 * If stderr is not the journal, lines start with the program's name and, except for information,
 * the level.
 *
 * The lines about one datanode, peer, guest or user are limited (log_limit.h), since they may
 * provoke them. When lines go out again, a line before says how many were left out. Lines about
 * no subject, which only the operator and the host provoke, and debug lines are not limited.
 *
 * A line goes out in one write(2), so lines of several threads never mix.  Control characters are
 * replaced by '?', so names from guests and images cannot forge lines.
 */
#ifndef VREAD_LOG_H
#define VREAD_LOG_H

#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Events that operators and their programs wait for.  vreadd(8) lists the MESSAGE_IDs. */
enum log_event {
	LOG_EVENT_READY,
	LOG_EVENT_DATANODE_REFUSED,
	LOG_EVENT_DATANODE_MISSING, /* a part of the datanode is not served */
	LOG_EVENT_STORAGE_REFUSED,  /* a storage belongs to another datanode */
	LOG_EVENT_PARSER_RESTARTED,
	LOG_EVENT_DEVICE_CONNECTED,
	LOG_EVENT_DEVICE_REFUSED,
	LOG_EVENT_PEER_FAILED,
	LOG_EVENT_OPENED,         /* a device opened a block, or was refused */
	LOG_EVENT_OPENED_BY_PEER, /* another host did */
	LOG_EVENTS,               /* the number of events; also marks a line that is no event */
};

/* Sets the name in front of plain lines; static string.  Default: the program's own name. */
void log_set_name(const char *name);
/* Drops lines less severe than level.  Default: LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Writes journal entries with fields instead of lines if stderr is the journal.  From now on no
 * line waits: one that the journal, or the reader of a pipe, does not take at once is lost.  Call
 * it before the first line, and not in a process that may not open sockets.  log_record() waits. */
void log_use_journal(void);
/* Lines that were lost since the start. */
uint64_t log_lost(void);

/* format has no newline at its end.  The functions preserve errno. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Lines about a datanode, a peer or a device.  The line begins with the subject: "datanode dn1: ",
 * "peer host-b: " or "xen:7/0: ".  Of a name at most 255 bytes are shown. */
void log_datanode(enum log_level level, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void log_peer(enum log_level level, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void log_device(enum log_level level, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A line about no subject, which `source` has provoked: a stranger (log_limit.h). The users of the
 * local port are strangers, too. */
void log_source(enum log_level level, const char *source, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* name: of the event's subject; NULL for LOG_EVENT_READY. */
void log_event(enum log_event event, enum log_level level, const char *name, const char *format,
	       ...) __attribute__((format(printf, 4, 5)));

/* A line of a record that is complete: it goes out at every level, and is not limited. */
struct log_field {
	const char *name; /* VREAD_... */
	const char *value;
};
#define LOG_MAX_FIELDS 5U
/* fields: of the journal's entry, up to LOG_MAX_FIELDS. */
void log_record(enum log_event event, const char *name, const struct log_field *fields,
		unsigned count, const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
