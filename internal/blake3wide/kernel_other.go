//go:build !amd64

package blake3wide

const fast = false

func compressChunks(in *[wide * chunkSize]byte, counter uint64, out *[wide * chainSize]byte) {
	eachChunk(in, counter, out)
}

func compressParents(in *[wide * blockSize]byte, out *[wide * chainSize]byte) { eachParent(in, out) }
