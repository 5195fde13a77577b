package sandbox.driver

import java.io.*
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler

// Compile what each line names, `FOLDER FILE …`: these become FOLDER/LAST.jar, by the last of them, a module of its own
// that sees the class path given and, once it is compiled, the program. What is said goes to FOLDER/said.
fun main(given: Array<String>) {
    val (libraries, options) = given[0] to given.drop(1)
    while (true) {
        val line = readLine() ?: return
        val parts = line.split(" ")
        val (name, files) = parts[0] to parts.drop(1)
        val program = "$name/Candidate.jar"
        val seen = if ("Candidate" in files) libraries else "$libraries${File.pathSeparator}$program"
        val arguments = options + listOf("-cp", seen, "-Xfriend-paths=$program", "-d", "$name/${files.last()}.jar")
        val all = arguments + files.map { "$name/$it.kt" }
        val status = try {
            PrintStream(FileOutputStream("$name/said")).use { K2JVMCompiler().exec(it, *all.toTypedArray()).code }
        } catch (error: Throwable) {
            -1
        }
        println("$line $status")
        System.out.flush()
    }
}
