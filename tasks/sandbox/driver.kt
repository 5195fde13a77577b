package sandbox.driver

import java.io.*
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler

// Compile each folder that standard input names into a jar of its name; what is said goes to `said` in the folder.
fun main(given: Array<String>) {
    while (true) {
        val name = readLine() ?: return
        val arguments = given + arrayOf("-d", "$name.jar", "$name/Candidate.kt", "$name/Calls.kt")
        val status = try {
            PrintStream(FileOutputStream("$name/said")).use { K2JVMCompiler().exec(it, *arguments).code }
        } catch (error: Throwable) {
            -1
        }
        println("$name $status")
        System.out.flush()
    }
}
