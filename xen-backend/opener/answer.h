/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h - answers the requests on one channel (disk/opener_protocol.h).  main.c calls it, from
 * one thread for each channel.
 */
#ifndef VREAD_OPENER_ANSWER_H
#define VREAD_OPENER_ANSWER_H

/* Tells vreadd that the opener is ready.  0 or negative errno. */
int answer_ready(int channel);
/* Answers until the other end of the channel is closed.  A message that is no request gets an
 * error, and the next one is read. */
void answer_requests(int channel);

#endif
