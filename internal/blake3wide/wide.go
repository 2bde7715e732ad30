package blake3wide

// wide is how many compressions the kernel does side by side.
const wide = 16

// Fast tells whether this processor has the instructions of the kernel.
// Without them a Hasher is right, but slower than other implementations.
func Fast() bool { return fast }

// eachChunk does what the kernel does with chunks, one after another.
func eachChunk(in *[wide * chunkSize]byte, counter uint64, out *[wide * chainSize]byte) {
	for i := range wide {
		n := chunkOf(in[i*chunkSize:][:chunkSize], counter+uint64(i))
		c := n.chain()
		copy(out[i*chainSize:], c[:])
	}
}

// eachParent does what the kernel does with parents, one after another.
func eachParent(in *[wide * blockSize]byte, out *[wide * chainSize]byte) {
	for i := range wide {
		n := parentOf(in[i*blockSize:][:blockSize])
		c := n.chain()
		copy(out[i*chainSize:], c[:])
	}
}
