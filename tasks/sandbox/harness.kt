// What stands around programs: it calls one, and replies as the WebAssembly component does (tasks/sandbox/values.py),
// each reply on a line that starts with a number only known at run time. The program shares the virtual machine with
// it and may forge its own replies: that gains nothing, as no expected value is in here.
package sandbox.harness

import java.io.*
import java.math.BigInteger

private class Unfit(message: String) : Exception(message)

private class Packer {
    var values = 0
    val out = StringBuilder()

    fun pack(value: Any?, depth: Int) {
        values += 1
        if (depth > 64 || values > 100_000) throw Unfit("nested too deep, or too many values")
        if (out.length > 1_000_000) throw Unfit("more than 1000000 characters")
        if (value == null || value === Unit) { // a value's own `equals` is never asked
            out.append("null")
            return
        }
        when (value) {
            is Boolean -> out.append(value)
            is Byte, is Short, is Int -> out.append(value)
            is Long -> integer(BigInteger.valueOf(value))
            is BigInteger -> integer(value)
            is Float -> real(value.toDouble())
            is Double -> real(value)
            is Char -> text(value.toString())
            is String -> text(value)
            is Pair<*, *> -> members("t", listOf(value.first, value.second), depth)
            is Triple<*, *, *> -> members("t", listOf(value.first, value.second, value.third), depth)
            is Map<*, *> -> members("d", pairs(value), depth)
            is Set<*> -> members("s", value, depth)
            is List<*> -> members("l", value, depth)
            is Array<*> -> members("l", value.asIterable(), depth)
            is IntArray -> members("l", value.asIterable(), depth)
            is LongArray -> members("l", value.asIterable(), depth)
            is DoubleArray -> members("l", value.asIterable(), depth)
            is BooleanArray -> members("l", value.asIterable(), depth)
            is CharArray -> members("l", value.asIterable(), depth)
            else -> throw Unfit("of type " + value.javaClass.name.take(60))
        }
    }

    private fun members(tag: String, held: Iterable<*>, depth: Int) {
        out.append("[\"").append(tag).append('"')
        for (value in held) {
            out.append(',')
            pack(value, depth + 1)
        }
        out.append(']')
    }

    private fun pairs(map: Map<*, *>) = Iterable {
        iterator {
            for (entry in map.entries) {
                yield(entry.key)
                yield(entry.value)
            }
        }
    }

    private fun integer(value: BigInteger) {
        if (value.bitLength() > 14_000) throw Unfit("an integer of more than 14000 bits")
        if (value.bitLength() < 53) out.append(value)
        else out.append("[\"i\",\"").append(value.toString(16)).append("\"]")
    }

    private fun real(value: Double) {
        val text = when {
            value.isNaN() -> "nan"
            value.isInfinite() -> if (value > 0) "inf" else "-inf"
            else -> java.lang.Double.toHexString(value)
        }
        out.append("[\"f\",\"").append(text).append("\"]")
    }

    fun text(value: String) {
        if (out.length + value.length > 1_000_000) throw Unfit("more than 1000000 characters")
        out.append('"')
        for (c in value) {
            if (c in ' '..'~' && c != '"' && c != '\\') out.append(c)
            else out.append("\\u").append(c.code.toString(16).padStart(4, '0'))
        }
        out.append('"')
    }
}

private fun said(vararg texts: String): String {
    val packer = Packer()
    for ((k, text) in texts.withIndex()) {
        packer.out.append(if (k == 0) '[' else ',')
        packer.text(text.take(300))
    }
    return packer.out.append(']').toString()
}

private fun reply(call: () -> Any?): String = try {
    val packer = Packer()
    packer.pack(call(), 0)
    "[\"value\"," + packer.out + "]"
} catch (error: Unfit) {
    said("bad value", error.message ?: "")
} catch (error: OutOfMemoryError) {
    "[\"memory\"]"
} catch (error: ExceptionInInitializerError) {
    thrown(error.cause ?: error)
} catch (error: Throwable) {
    thrown(error)
}

private fun thrown(error: Throwable): String {
    val message = try { error.message ?: "" } catch (other: Throwable) { "" }
    val classes = generateSequence<Class<*>>(error.javaClass) { it.superclass }.map { it.name }
    return said("exception", error.javaClass.simpleName, message, *classes.toList().toTypedArray())
}

fun serve(calls: List<() -> Any?>) {
    val nonce = readLine() ?: return
    val out = FileOutputStream(FileDescriptor.out)
    System.setIn(ByteArrayInputStream(ByteArray(0)))
    System.setOut(PrintStream(OutputStream.nullOutputStream()))
    System.setErr(PrintStream(OutputStream.nullOutputStream()))
    fun say(text: String) = out.write("$nonce $text\n".toByteArray(Charsets.US_ASCII))
    say("ready")
    val work = Thread(null, { for (call in calls) say(reply(call)) }, "calls", 32L shl 20)
    work.isDaemon = true
    work.start()
    work.join()
    say("end")
    Runtime.getRuntime().halt(0)
}
