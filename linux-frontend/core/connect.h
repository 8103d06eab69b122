/* SPDX-License-Identifier: GPL-2.0 */
/*
 * connect.h - the frontend's side of the state machine in section 2 of vreadif.h, and the nodes of
 * a device in /dev.  The transport calls it, and it calls the transport's struct vread_attachment.
 *
 * One at a time takes a step: the device's work, or the driver while it holds the device.  A device
 * is held from its creation, and a driver holds it while it begins, sleeps, wakes up or ends.
 *
 * All functions: process context.
 */
#ifndef VREAD_CONNECT_H
#define VREAD_CONNECT_H

#include <linux/types.h>

struct vread_device;
struct work_struct;

/* Adds the node of device number id: /dev/vread for 0, /dev/vread1 for 1.  0 or negative errno. */
int vread_connect_add(struct vread_device *dev, u32 id);
/* What dev->work does: brings the device into the phase that the backend's state and the link
 * require, unless the device is held. */
void vread_connect_work(struct work_struct *work);
/* No step of the work runs when the call returns, or begins before vread_connect_release(). */
void vread_connect_hold(struct vread_device *dev);
/* The work takes steps again, and the first one soon. */
void vread_connect_release(struct vread_device *dev);

/* The next four functions: while the device is held. */

/* The guest wakes up without having closed its connection.  known: the backend knows of it, so that
 * it has to be closed first; else it is forgotten. */
void vread_connect_wake(struct vread_device *dev, bool known);
/* Ends the connection, and waits a while for the backend to close. */
void vread_connect_pause(struct vread_device *dev);
/* Begins the end of a device, and holds it for ever: its nodes are gone when the call returns. */
void vread_connect_stop(struct vread_device *dev);
/* Ends a device after vread_connect_stop(): ends the connection, and wakes everybody who waits. */
void vread_connect_end(struct vread_device *dev);

#endif
