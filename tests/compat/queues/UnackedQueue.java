// Messages in a hash, their times in a zset; who takes them puts their ids into a second zset until
// they are acknowledged, and brings back what was not acknowledged in time. The article
// does this by Lua from Spring; here WATCH and MULTI do, over a connection of our own, in RESP3 as
// Spring's client speaks it. Run by `java UnackedQueue.java`.

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

public class UnackedQueue {
    static final int MESSAGES = 40;
    static final int WORKERS = 3;
    static final int BATCH = 5;
    static final int UNACKED_FOR = 2000;

    /** A connection: a command out, its reply in as null, Long, String or List. */
    static class Connection {
        private final InputStream in;
        private final OutputStream out;

        Connection() throws IOException {
            Socket socket = new Socket("127.0.0.1", Integer.parseInt(System.getenv("PORT")));
            socket.setTcpNoDelay(true);
            in = new BufferedInputStream(socket.getInputStream());
            out = socket.getOutputStream();
            call("HELLO", "3");
        }

        Object call(Object... arguments) throws IOException {
            ByteArrayOutputStream request = new ByteArrayOutputStream();
            request.write(("*" + arguments.length + "\r\n").getBytes(StandardCharsets.UTF_8));
            for (Object argument : arguments) {
                byte[] bytes = argument.toString().getBytes(StandardCharsets.UTF_8);
                request.write(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.UTF_8));
                request.write(bytes);
                request.write("\r\n".getBytes(StandardCharsets.UTF_8));
            }
            out.write(request.toByteArray());
            Object reply = read();
            if (reply instanceof IOException)
                throw (IOException) reply;
            return reply;
        }

        @SuppressWarnings("unchecked")
        List<Object> list(Object... arguments) throws IOException {
            return (List<Object>) call(arguments);
        }

        private String line() throws IOException {
            StringBuilder text = new StringBuilder();
            for (int c = in.read(); c != '\r'; c = in.read()) {
                if (c < 0)
                    throw new IOException("the server hung up");
                text.append((char) c);
            }
            in.read();
            return text.toString();
        }

        private Object read() throws IOException {
            String line = line();
            String rest = line.substring(1);
            switch (line.charAt(0)) {
            case '-':
                return new IOException(rest);
            case ':':
                return Long.parseLong(rest);
            case '$':
                return bulk(Integer.parseInt(rest));
            case '*':
            case '~':
            case '>':
                return items(Integer.parseInt(rest));
            case '%':
                return items(2 * Integer.parseInt(rest));
            case '_':
                return null;
            default:
                return rest;
            }
        }

        private String bulk(int size) throws IOException {
            if (size < 0)
                return null;
            byte[] bytes = in.readNBytes(size);
            line();
            return new String(bytes, StandardCharsets.UTF_8);
        }

        private List<Object> items(int count) throws IOException {
            if (count < 0)
                return null;
            List<Object> items = new ArrayList<>();
            for (int i = 0; i < count; i++)
                items.add(read());
            return items;
        }
    }

    record Message(String id, String body, String token) {
        long due() {
            return Long.parseLong(body);
        }
    }

    interface Queue {
        void send(String id, long due) throws IOException;

        List<Message> take() throws IOException;

        void acknowledge(Message message) throws IOException;

        /** Brings back what was taken and not acknowledged in time. */
        void recover() throws IOException;

        long left() throws IOException;
    }

    static class ZsetQueue implements Queue {
        private static final String META = "task_meta_data:orders";
        private static final String DELAYED = "delay_queue:orders";
        private static final String UNACKED = "unack_queue:orders";
        private final Connection redis = new Connection();

        ZsetQueue() throws IOException {
        }

        public void send(String id, long due) throws IOException {
            redis.call("MULTI");
            redis.call("HSET", META, id, due);
            redis.call("ZADD", DELAYED, due, id);
            redis.call("EXEC");
        }

        public List<Message> take() throws IOException {
            List<Message> taken = new ArrayList<>();
            List<Object> ids = due(DELAYED);
            if (ids.isEmpty())
                return taken;
            List<Object> replies = move(DELAYED, UNACKED, System.currentTimeMillis() + UNACKED_FOR, ids);
            if (replies == null)
                return taken;
            List<?> bodies = (List<?>) replies.get(2);
            for (int i = 0; i < ids.size(); i++)
                taken.add(new Message((String) ids.get(i), (String) bodies.get(i), null));
            return taken;
        }

        public void recover() throws IOException {
            List<Object> ids = due(UNACKED);
            if (!ids.isEmpty())
                move(UNACKED, DELAYED, System.currentTimeMillis(), ids);
        }

        /** What is due in a zset that is watched from here on. */
        private List<Object> due(String zset) throws IOException {
            redis.call("WATCH", zset);
            List<Object> ids =
                redis.list("ZRANGEBYSCORE", zset, "-inf", System.currentTimeMillis(), "LIMIT", 0, BATCH);
            if (ids.isEmpty())
                redis.call("UNWATCH");
            return ids;
        }

        /** Null when somebody else was faster. */
        private List<Object> move(String from, String to, long score, List<Object> ids) throws IOException {
            List<Object> remove = new ArrayList<>(List.of("ZREM", from));
            List<Object> add = new ArrayList<>(List.of("ZADD", to));
            List<Object> bodies = new ArrayList<>(List.of("HMGET", META));
            for (Object id : ids) {
                remove.add(id);
                add.add(score);
                add.add(id);
                bodies.add(id);
            }
            redis.call("MULTI");
            redis.call(remove.toArray());
            redis.call(add.toArray());
            redis.call(bodies.toArray());
            return redis.list("EXEC");
        }

        public void acknowledge(Message message) throws IOException {
            redis.call("MULTI");
            redis.call("ZREM", UNACKED, message.id());
            redis.call("HDEL", META, message.id());
            redis.call("EXEC");
        }

        public long left() throws IOException {
            return (Long) redis.call("ZCARD", DELAYED) + (Long) redis.call("ZCARD", UNACKED)
                + (Long) redis.call("HLEN", META);
        }
    }

    static class NativeQueue implements Queue {
        private static final String TOPIC = "orders";
        private final Connection dueq = new Connection();

        NativeQueue() throws IOException {
        }

        public void send(String id, long due) throws IOException {
            dueq.call("Q.PUSH", TOPIC, due, "ID", id, "AT", due);
        }

        public List<Message> take() throws IOException {
            List<Message> taken = new ArrayList<>();
            for (Object job : dueq.list("Q.CLAIM", TOPIC, "COUNT", BATCH, "LEASE", UNACKED_FOR + "ms")) {
                List<?> fields = (List<?>) job;
                taken.add(new Message((String) fields.get(0), (String) fields.get(2), fields.get(1).toString()));
            }
            return taken;
        }

        public void acknowledge(Message message) throws IOException {
            dueq.call("Q.ACK", TOPIC, message.id(), message.token());
        }

        public void recover() {
            // A lease that runs out brings its job back.
        }

        public long left() throws IOException {
            return (Long) dueq.call("Q.LEN", TOPIC);
        }
    }

    static Queue newQueue() throws IOException {
        return "q".equals(System.getenv("VARIANT")) ? new NativeQueue() : new ZsetQueue();
    }

    static final Map<String, Integer> attempts = new ConcurrentHashMap<>();
    static final Map<String, Integer> finished = new ConcurrentHashMap<>();
    static final AtomicInteger early = new AtomicInteger();

    /** Every fifth message is not acknowledged the first time. */
    static void handle(Queue queue, Message message) throws IOException {
        if (System.currentTimeMillis() < message.due())
            early.incrementAndGet();
        int attempt = attempts.merge(message.id(), 1, Integer::sum);
        if (attempt == 1 && Integer.parseInt(message.id()) % 5 == 0)
            return;
        queue.acknowledge(message);
        finished.merge(message.id(), 1, Integer::sum);
    }

    static void work() {
        try {
            Queue queue = newQueue();
            while (finished.size() < MESSAGES) {
                for (Message message : queue.take())
                    handle(queue, message);
                queue.recover();
                Thread.sleep(10);
            }
        } catch (IOException | InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Queue queue = newQueue();
        for (int number = 0; number < MESSAGES; number++)
            queue.send(Integer.toString(number), System.currentTimeMillis() + number * 13 % 300);
        List<Thread> workers = new ArrayList<>();
        for (int i = 0; i < WORKERS; i++)
            workers.add(new Thread(UnackedQueue::work));
        for (Thread worker : workers)
            worker.start();
        for (Thread worker : workers)
            worker.join();
        System.out.println("finished " + finished.size());
        System.out.println("attempts " + attempts.values().stream().mapToInt(times -> times).sum());
        System.out.println("finished more than once " + finished.values().stream().filter(n -> n > 1).count());
        System.out.println("early " + early.get());
        System.out.println("left " + queue.left());
    }
}
