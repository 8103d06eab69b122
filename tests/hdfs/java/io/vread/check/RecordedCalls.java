// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.check;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.SocketFactory;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.protocolPB.ClientNamenodeProtocolPB;
import org.apache.hadoop.io.retry.RetryPolicy;
import org.apache.hadoop.ipc.AlignmentContext;
import org.apache.hadoop.ipc.Client.ConnectionId;
import org.apache.hadoop.ipc.ProtobufRpcEngine2;
import org.apache.hadoop.ipc.ProtocolProxy;
import org.apache.hadoop.ipc.RpcEngine;
import org.apache.hadoop.ipc.RpcInvocationHandler;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Hadoop's RPC engine, which also records the calls that watched threads make to a NameNode. A call
 * is recorded before it is sent. So a call that gets no answer is recorded, too.
 */
public final class RecordedCalls extends ProtobufRpcEngine2 {
  /** By the thread's id: an entry must not keep a thread and its class loader. */
  private static final Map<Long, List<String>> WATCHED = new ConcurrentHashMap<>();

  /** Makes the clients of this JVM use this engine. Must be called before the first client. */
  static void record(Configuration conf) {
    conf.setClass(
        "rpc.engine." + ClientNamenodeProtocolPB.class.getName(),
        RecordedCalls.class,
        RpcEngine.class);
  }

  static void watch(Thread thread) {
    WATCHED.put(thread.getId(), new CopyOnWriteArrayList<>());
  }

  /** The methods that a watched thread has called, in order. */
  static List<String> of(Thread thread) {
    return WATCHED.get(thread.getId());
  }

  @Override
  public <T> ProtocolProxy<T> getProxy(
      Class<T> protocol,
      long version,
      InetSocketAddress address,
      UserGroupInformation user,
      Configuration conf,
      SocketFactory factory,
      int timeout,
      RetryPolicy policy,
      AtomicBoolean fallbackToSimple,
      AlignmentContext alignment)
      throws IOException {
    T proxy =
        super.getProxy(
                protocol,
                version,
                address,
                user,
                conf,
                factory,
                timeout,
                policy,
                fallbackToSimple,
                alignment)
            .getProxy();
    RpcInvocationHandler handler = (RpcInvocationHandler) Proxy.getInvocationHandler(proxy);
    Object recording =
        Proxy.newProxyInstance(
            protocol.getClassLoader(), new Class<?>[] {protocol}, new Recorder(handler));
    return new ProtocolProxy<>(protocol, protocol.cast(recording), false);
  }

  private static final class Recorder implements RpcInvocationHandler {
    private final RpcInvocationHandler handler;

    Recorder(RpcInvocationHandler handler) {
      this.handler = handler;
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
      List<String> calls = of(Thread.currentThread());
      if (calls != null) {
        calls.add(method.getName());
      }
      return handler.invoke(proxy, method, arguments);
    }

    @Override
    public ConnectionId getConnectionId() {
      return handler.getConnectionId();
    }

    @Override
    public void close() throws IOException {
      handler.close();
    }
  }
}
