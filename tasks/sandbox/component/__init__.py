"""What is built into the image: the WebAssembly component's world and the Python that runs in it."""
