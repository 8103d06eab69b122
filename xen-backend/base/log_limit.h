/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log_limit.h - limits the log lines that one guest, peer, image or user can provoke. log.c asks
 * before each line about a subject, and control/ shows the count.
 *
 * A source that the operator has configured may write LOG_LIMIT_BURST lines at once, and
 * LOG_LIMIT_EACH_SECOND lines a second in the long run, by the clock of base/clock.h. If it has
 * used up its lines, it is silent until it has those of one second again. A stranger, who is known
 * by nothing but a connection, may write LOG_LIMIT_STRANGER lines at once, and one a minute in the
 * long run. Lines of other sources are not affected.
 *
 * Threads: any.
 */
#ifndef VREAD_LOG_LIMIT_H
#define VREAD_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_BURST 1000U
#define LOG_LIMIT_EACH_SECOND 10U
#define LOG_LIMIT_STRANGER 20U

/*
 * True: a line of that source may be written now. *ret_left_out: the lines of the source that were
 * left out just before this one. Of a name at most 79 bytes count.
 */
bool log_limit_pass(const char *source, bool stranger, uint64_t *ret_left_out);
/* Lines of all sources that were left out since the start. */
uint64_t log_limit_left_out(void);

#endif
