/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve.h - answers vreadd's questions, in a parser's process. Called by parser/main.c.
 */
#ifndef VREAD_PARSER_SERVE_H
#define VREAD_PARSER_SERVE_H

/* Tells vreadd on the socket `fd` that questions may come. Returns 0 or negative errno. */
int serve_ready(int fd);
/* Answers questions on the socket `fd` until the other end is closed. Each socket has its own
 * thread. */
void serve(int fd);

#endif
