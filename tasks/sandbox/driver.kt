package sandbox.driver

import java.io.*
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler

// Compile what each line names, `FOLDER PART`: FOLDER/PART.kt becomes FOLDER/PART.jar, a module of its own that sees the
// class path given and, in its folder, the program. What is said goes to FOLDER/said.
fun main(given: Array<String>) {
    val (libraries, options) = given[0] to given.drop(1)
    while (true) {
        val line = readLine() ?: return
        val (name, part) = line.split(" ")
        val program = "$name/Candidate.jar"
        val seen = if (part == "Candidate") libraries else "$libraries${File.pathSeparator}$program"
        val arguments = options + listOf("-cp", seen, "-Xfriend-paths=$program", "-d", "$name/$part.jar", "$name/$part.kt")
        val status = try {
            PrintStream(FileOutputStream("$name/said")).use { K2JVMCompiler().exec(it, *arguments.toTypedArray()).code }
        } catch (error: Throwable) {
            -1
        }
        println("$line $status")
        System.out.flush()
    }
}
