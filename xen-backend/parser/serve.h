/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve.h - answering questions, in a parser's process; private to parser/. */
#ifndef VREAD_PARSER_SERVE_H
#define VREAD_PARSER_SERVE_H

/* Tells vreadd that questions may come: 0 or negative errno. */
int serve_ready(int fd);
/* Answers what comes on a channel, a socket, until the other end is gone.  One thread each. */
void serve(int fd);

#endif
