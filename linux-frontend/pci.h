/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pci.h - the driver of devices of KVM and QEMU, which are PCI devices (ivshmem-doorbell).  main.c
 * registers the driver when the module is loaded.
 */
#ifndef VREAD_PCI_H
#define VREAD_PCI_H

/* 0 or negative errno.  A kernel without PCI: 0. */
int vread_pci_register(void);
void vread_pci_unregister(void);

#endif
