// SPDX-License-Identifier: Apache-2.0
package io.vread;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.security.PrivilegedExceptionAction;
import java.util.concurrent.FutureTask;
import org.apache.hadoop.ipc.CallerContext;
import org.apache.hadoop.security.UserGroupInformation;
import org.junit.Test;

/** A thread that is made by a thread with a user, a caller context and much else. */
public class BackgroundThreadTest {
  private static final InheritableThreadLocal<String> INHERITABLE = new InheritableThreadLocal<>();

  private static final class Seen {
    final String user = user();
    final CallerContext caller = CallerContext.getCurrent();
    final String inheritable = INHERITABLE.get();
  }

  private static String user() {
    try {
      return UserGroupInformation.getCurrentUser().getUserName();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private final FutureTask<Seen> task = new FutureTask<>(Seen::new);
  private volatile Thread made;

  private void make() {
    CallerContext.setCurrent(new CallerContext.Builder("somebody's job").build());
    INHERITABLE.set("somebody's");
    Thread.currentThread().setContextClassLoader(new URLClassLoader(new URL[0]));
    Thread.currentThread().setPriority(Thread.MIN_PRIORITY);
    made = BackgroundThread.of(task, "made");
    made.start();
  }

  @Test
  public void nothingIsInherited() throws Exception {
    ThreadGroup group = new ThreadGroup("somebody's");
    Thread maker =
        new Thread(
            group,
            () -> {
              try {
                UserGroupInformation.createRemoteUser("somebody")
                    .doAs(
                        (PrivilegedExceptionAction<Void>)
                            () -> {
                              assertEquals("somebody", user());
                              make();
                              return null;
                            });
              } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(e);
              }
            });
    maker.start();
    maker.join();
    assertSame(BackgroundThread.class.getClassLoader(), made.getContextClassLoader());
    Seen seen = task.get();
    assertEquals(UserGroupInformation.getLoginUser().getUserName(), seen.user);
    assertNotEquals("somebody", seen.user);
    assertNull(seen.caller);
    if (!System.getProperty("java.version").startsWith("1.8")) {
      assertNull(seen.inheritable);
    }
  }

  @Test
  public void itIsADaemonOfTheWholeProcess() throws Exception {
    FutureTask<Thread> itself = new FutureTask<>(Thread::currentThread);
    Thread thread = BackgroundThread.of(itself, "made");
    assertTrue(thread.isDaemon());
    assertEquals("made", thread.getName());
    assertEquals(Thread.NORM_PRIORITY, thread.getPriority());
    assertNull(thread.getThreadGroup().getParent());
    thread.start();
    assertSame(thread, itself.get());
  }
}
