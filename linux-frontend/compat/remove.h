/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For kernels in which remove of struct xenbus_driver returns int.  The driver's own function gets
 * another name where arguments follow its name, so in its definition.  Without arguments the name
 * means the function here.
 */
#ifndef VREAD_COMPAT_REMOVE_H
#define VREAD_COMPAT_REMOVE_H

struct xenbus_device;

static void vread_remove_void(struct xenbus_device *xbdev);

static int vread_remove(struct xenbus_device *xbdev)
{
	vread_remove_void(xbdev);
	return 0;
}

#define vread_remove(xbdev) vread_remove_void(xbdev)

#endif
