// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.read;

import io.vread.Errno;
import io.vread.hdfs.locations.BlockKey;
import io.vread.hdfs.select.SlowReadDetector;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.hdfs.ReplicaAccessor;
import org.apache.hadoop.hdfs.protocol.datatransfer.InvalidEncryptionKeyException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads one block for the stock client.
 *
 * <p><b>How a read fails.</b> It does not, as far as the stock client sees: the reader goes on with
 * the stock client's own reader of the block ({@link StockBlock}). So the stock client blames no
 * datanode for a failure of vRead, and does not log one. So does a reader for which vRead was
 * measured to be slower. The block is put on hold ({@link HoldOff}), so that the next build()
 * returns null.
 *
 * <p>If there is no such reader, because no location of the block is known, or if it fails, too,
 * the stock client must make a new reader for the same datanode. The stock client (DFSInputStream)
 * uses readers in two ways, and does not tell the builder which:
 *
 * <ul>
 *   <li>stateful reads, readBuffer(): after the first IOException other than a ChecksumException,
 *       the client builds a new reader for the same datanode at the same position, and blames
 *       nobody, but Hadoop 3.5.0 logs a warning that names the datanode. A second IOException marks
 *       the datanode dead.
 *   <li>positional reads, actualGetFromOneDataNode(): after an InvalidEncryptionKeyException the
 *       client forgets the key of its next connections, builds a new reader for the block it has
 *       and starts the range over, once. After an InvalidBlockTokenException it does nearly the
 *       same, but looks the block up again by the file's name. If another file has that name by
 *       now, the stream goes on with bytes of the other file, at positions of this one. Any other
 *       exception marks the datanode dead and may cost seconds.
 * </ul>
 *
 * <p>Positional reads come through read(long, ByteBuffer) only, stateful reads through both
 * methods. So read(long, byte[], int, int) throws a plain IOException, and read(long, ByteBuffer)
 * an InvalidEncryptionKeyException, which is right in both ways. A ChecksumException is never
 * thrown: the stock client would report the replica corrupt that it has chosen, not the one that
 * was read. Readers of striped files pass on the exceptions of their stock reader: such a block has
 * one replica, and the stock client counts a failed reader as a missing block.
 *
 * <p>If the thread is interrupted, a read throws an InterruptedIOException, as a stock read does,
 * and leaves the thread's flag alone.
 *
 * <p>A RuntimeException passes through the stock client to the application, and no datanode is
 * blamed. So it is thrown only for a mistake of the application, where a stock reader throws the
 * same: the array is too small for the range (DFSInputStream lets a negative offset pass), or the
 * buffer is read-only.
 *
 * <p><b>Kinds of reads.</b> The shape of a read shows its kind. A positional read asks for
 * everything up to the visible length at once, because the client makes the end of the request the
 * visible length. Such a read is passed on as it is, to a replica shared by all readers. Any other
 * read is one of a sequence: the reader takes the replica's cursor, behind which libvread reads
 * ahead. Small reads are served from a buffer of the reader's own, so that reading byte by byte
 * does not make a native call for each byte. What is in the buffer needs neither the replica nor
 * the clock, and is also served after vRead was found slow.
 *
 * <p><b>Another connection.</b> The client may connect anew, with another share of the pool. Then
 * the reader moves over with its next step, in the middle of a block, too. A reader that is open
 * and idle may lose its replica ({@link ReplicaReference#letGoOf}), and opens it again.
 *
 * <p><b>Threads.</b> A lock covers every read. close() does not wait for a running read: the last
 * of the two releases the replica. If a reader is collected without close(), {@link
 * ReplicaReference} releases the replica.
 */
public final class VreadReplicaAccessor extends ReplicaAccessor {
  private static final Logger LOG = LoggerFactory.getLogger(VreadReplicaAccessor.class);

  /** Reads of at least so many bytes go straight to the caller's memory. */
  private static final int DIRECT_BYTES = 32 << 10;

  private static final int FIRST_BUFFER = 8 << 10;
  private static final int LARGEST_BUFFER = 128 << 10;

  /** Results of a read that are neither a number of bytes nor an errno. */
  private static final int END = Integer.MIN_VALUE;

  private static final int CLOSED = Integer.MIN_VALUE + 1;
  private static final int SLOWER = Integer.MIN_VALUE + 2;

  private final Client client;
  private final BlockRead read;
  private final ReplicaReference held;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile boolean closed;

  // How the stock client's statistics count what is read:
  private volatile boolean shortCircuit;
  private volatile int hops;

  private StockReader stock; // not null: the block is no longer read by vRead
  private byte[] stockPiece;

  private final SlowReadDetector detector; // null: vRead and stock reads do not compete
  private boolean lost; // the rest of the block is not read through vRead
  private boolean noCursor;
  private Replica stayed; // it could not be opened on the client's newer connection

  private byte[] buffer;
  private long bufferStart; // position in the block of the buffer's first byte
  private int bufferLength;
  private int nextFill = FIRST_BUFFER;
  private long received; // bytes, from the backend

  /**
   * Takes over a reference to replica. detector: null: vRead reads the whole block however slow.
   */
  public VreadReplicaAccessor(
      Client client, BlockRead read, Replica replica, SlowReadDetector detector) {
    this.client = client;
    this.read = read;
    this.shortCircuit = !replica.remote();
    this.hops = replica.remote() ? Integer.MAX_VALUE : 0;
    this.held = new ReplicaReference(this, replica);
    this.detector = detector;
  }

  @Override
  public int read(long position, byte[] dst, int offset, int length) throws IOException {
    if (offset < 0 || length < 0 || length > dst.length - offset) {
      throw new IndexOutOfBoundsException(
          length + " bytes at " + offset + " of an array of " + dst.length);
    }
    int result = readTo(position, ByteBuffer.wrap(dst, offset, length));
    if (failed(result)) {
      throw result == Errno.EINTR
          ? interrupted(position)
          : new IOException(complaint(position, result));
    }
    return result == END ? -1 : result;
  }

  @Override
  public int read(long position, ByteBuffer dst) throws IOException {
    if (dst.isReadOnly()) { // native code would still write into it
      throw new ReadOnlyBufferException();
    }
    int result = readTo(position, dst);
    if (failed(result)) {
      throw result == Errno.EINTR
          ? interrupted(position)
          : new InvalidEncryptionKeyException(complaint(position, result));
    }
    return result == END ? -1 : result;
  }

  @Override
  public void close() throws IOException {
    closed = true;
    releaseIfClosed();
  }

  @Override
  public boolean isLocal() {
    return hops == 0;
  }

  /**
   * True for local bytes: the stock client counts as short-circuit what no datanode process
   * handled.
   */
  @Override
  public boolean isShortCircuit() {
    return shortCircuit;
  }

  /** As the stock client counts: 0 on this host, the largest number if unknown. */
  @Override
  public int getNetworkDistance() {
    return hops;
  }

  private static boolean failed(int result) {
    return result < 0 && result != END;
  }

  private IOException interrupted(long position) {
    return new InterruptedIOException("vread: " + read.block + " at " + position + ": interrupted");
  }

  private String complaint(long position, int errno) {
    String what =
        errno == CLOSED
            ? "the reader is closed"
            : errno == SLOWER ? "vRead is slower here" : Errno.name(errno);
    return "vread: " + read.block + " at " + position + ": " + what + "; the block is read by TCP";
  }

  // ---- one read ---------------------------------------------------------------------------------

  /**
   * Returns the bytes read, {@link #END}, {@link #CLOSED}, or an errno. Throws only what a stock
   * reader throws.
   */
  private int readTo(long position, ByteBuffer dst) throws IOException {
    lock.lock();
    try {
      if (closed) {
        return CLOSED;
      }
      if (dst.remaining() == 0) {
        return 0;
      }
      if (position < 0 || position >= read.visibleLength) {
        return END;
      }
      int count = (int) Math.min(dst.remaining(), read.visibleLength - position);
      if (stock == null) {
        int done =
            lost || isBuffered(position, count)
                ? takeBuffered(position, count, dst)
                : readAndWatch(position, count, dst);
        if (done == 0) {
          done = SLOWER; // what was left in the buffer when vRead was found slow is read
        }
        if (done > 0) {
          client.read(done);
        }
        if (done > 0 || done == Errno.EINTR || !goOnByStock()) {
          return done;
        }
      }
      return readStock(position, count, dst);
    } finally {
      lock.unlock();
      releaseIfClosed();
    }
  }

  /**
   * Only sequential reads are watched: of a positional read little is left when it is known slow.
   */
  private int readAndWatch(long position, int count, ByteBuffer dst) {
    if (detector == null || !held.hasCursor()) {
      return readSome(position, count, dst);
    }
    long since = detector.now(), before = received;
    int done = readSome(position, count, dst);
    int waitedFor = (int) (received - before);
    lost = done > 0 && detector.isLost(since, waitedFor, read.visibleLength - position - done);
    return done;
  }

  /**
   * Reads count bytes, or fewer if an error follows them: the next read then meets the error again.
   * Returns an errno if the first byte cannot be read.
   */
  private int readSome(long position, int count, ByteBuffer dst) {
    held.begin();
    try {
      return readSteps(position, count, dst);
    } finally {
      held.end();
    }
  }

  private int readSteps(long position, int count, ByteBuffer dst) {
    boolean reopened = false;
    int done = 0;
    while (done < count) {
      int step = step(position + done, count - done, dst);
      if (step > 0) {
        done += step;
      } else if (!reopened && reopen(step)) {
        reopened = true;
      } else if (done > 0) {
        break;
      } else {
        if (step != Errno.EINTR) {
          client.readFailed(read.block, step);
        }
        return step;
      }
    }
    return done;
  }

  /** Reads some of the count bytes. Returns their number, or an errno. */
  private int step(long position, int count, ByteBuffer dst) {
    int buffered = takeBuffered(position, count, dst);
    if (buffered > 0) {
      return buffered;
    }
    if (Thread.currentThread().isInterrupted()) {
      return Errno.EINTR;
    }
    InFlightReads.Call call = client.inFlight().begin(read.block);
    try {
      int errno = moveOver();
      return errno != 0 ? errno : ask(position, count, dst);
    } finally {
      call.end();
    }
  }

  /** As step(), from the backend. */
  private int ask(long position, int count, ByteBuffer dst) {
    boolean direct = dst.isDirect() || dst.hasArray();
    boolean positional = !held.hasCursor() && position + count == read.visibleLength;
    int result;
    if (direct && (positional || !haveCursor())) {
      result = held.replica().pread(position, dst, count);
    } else if (direct && count >= DIRECT_BYTES) {
      result = held.replica().read(position, dst, count);
    } else {
      result = fill(position);
      return result > 0 ? takeBuffered(position, count, dst) : result;
    }
    received += Math.max(result, 0);
    return result == 0 ? Errno.EIO : result;
  }

  /**
   * Opens the replica again if it was let go, or if the client has another connection by now. If
   * that fails, goes on with the old connection as long as there is one. Returns 0, or an errno:
   * there is no replica.
   */
  private int moveOver() {
    Replica replica = held.replica();
    if (replica != null && (!replica.connection().retired() || replica == stayed)) {
      return 0;
    }
    Client.Opened opened = client.open(read);
    if (opened.replica != null) {
      held.replace(opened.replica);
      return 0;
    }
    stayed = replica; // do not try again with every step
    return replica == null ? opened.errno : 0;
  }

  /** Opens the replica again after a failed step. True: try the step again. */
  private boolean reopen(int errno) {
    if (held.replica() == null) {
      return false; // it was just tried
    }
    Replica fresh = client.reopen(read, held.replica(), errno);
    if (fresh == null) {
      return false;
    }
    held.replace(fresh);
    return true;
  }

  /**
   * Takes the replica's cursor. If another reader has it, opens the replica again, with its own
   * cursor. False: there is no cursor, so read without read-ahead.
   */
  private boolean haveCursor() {
    if (!held.hasCursor() && noCursor) {
      return false;
    }
    if (held.takeCursor()) {
      return true;
    }
    Replica another = client.another(read, held.replica());
    if (another == null) {
      noCursor = true; // do not try again with every read
      return false;
    }
    held.replace(another);
    return held.takeCursor();
  }

  // ---- small reads ------------------------------------------------------------------------------

  /** True: takeBuffered() has all of it. */
  private boolean isBuffered(long position, int count) {
    long skip = position - bufferStart;
    return skip >= 0 && skip + count <= bufferLength;
  }

  private int takeBuffered(long position, int count, ByteBuffer dst) {
    long skip = position - bufferStart;
    if (skip < 0 || skip >= bufferLength) {
      return 0;
    }
    int taken = (int) Math.min(count, bufferLength - skip);
    dst.put(buffer, (int) skip, taken);
    return taken;
  }

  /**
   * Reads into the buffer from position on. Each fill that follows the last one is twice as large,
   * up to a limit.
   */
  private int fill(long position) {
    boolean next = bufferLength > 0 && position == bufferStart + bufferLength;
    nextFill = next ? Math.min(nextFill * 2, LARGEST_BUFFER) : FIRST_BUFFER;
    if (buffer == null || buffer.length < nextFill) {
      buffer = new byte[nextFill];
    }
    int wanted = (int) Math.min(nextFill, read.visibleLength - position);
    bufferLength = 0;
    ByteBuffer into = ByteBuffer.wrap(buffer);
    int result =
        haveCursor()
            ? held.replica().read(position, into, wanted)
            : held.replica().pread(position, into, wanted);
    bufferStart = position;
    bufferLength = Math.max(result, 0);
    received += bufferLength;
    return result == 0 ? Errno.EIO : result;
  }

  // ---- after a failure, or when vRead is slower -------------------------------------------------

  private boolean goOnByStock() {
    if (!read.canOpenStock()) {
      return false;
    }
    try {
      stock = read.openStock(read.visibleLength);
    } catch (IOException e) {
      return false; // the stock client makes one
    }
    held.release();
    return true;
  }

  private int readStock(long position, int count, ByteBuffer dst) throws IOException {
    if (stockPiece == null) {
      stockPiece = new byte[LARGEST_BUFFER];
    }
    int done;
    try {
      done = stock.read(position, stockPiece, 0, Math.min(count, stockPiece.length));
    } catch (IOException e) {
      if (read.block.mayBeStriped() || Thread.currentThread().isInterrupted()) {
        throw e;
      }
      LOG.debug("vread: {}: its datanodes fail, too", read, e);
      client.hold(read.block, Errno.EIO);
      return Errno.EIO;
    }
    dst.put(stockPiece, 0, done);
    shortCircuit = stock.isShortCircuit();
    hops = stock.networkDistance();
    return done;
  }

  // ---- end --------------------------------------------------------------------------------------

  private void releaseIfClosed() throws IOException {
    if (closed && lock.tryLock()) {
      try {
        held.release();
        buffer = null;
        bufferLength = 0;
        if (stock != null) {
          stock.close();
        }
      } finally {
        lock.unlock();
      }
    }
  }
}
