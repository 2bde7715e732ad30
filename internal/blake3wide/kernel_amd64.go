package blake3wide

import "golang.org/x/sys/cpu"

//go:generate sh -c "go run gen.go > kernel_amd64.s"

var fast = cpu.X86.HasAVX512F

// What the kernel adds to the counter for each lane.
var (
	rising = [wide]uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	still  [wide]uint32
)

// compressChunks hashes chunks that begin at number counter, a multiple of wide.
func compressChunks(in *[wide * chunkSize]byte, counter uint64, out *[wide * chainSize]byte) {
	if !fast {
		eachChunk(in, counter, out)
		return
	}
	kernel(&in[0], chunkSize, chunkSize/blockSize, counter, &rising, chunkStart, 0, chunkEnd, out)
}

// compressParents hashes pairs of chaining values. The results may take the
// place of the first half of them.
func compressParents(in *[wide * blockSize]byte, out *[wide * chainSize]byte) {
	if !fast {
		eachParent(in, out)
		return
	}
	kernel(&in[0], blockSize, 1, 0, &still, 0, parent, 0, out)
}

// kernel compresses sixteen lanes side by side. The input of lane i begins at
// in + i*stride and has so many blocks; all of them are read, and nothing else.
// Its counter is counter + steps[i], where the lower 32 bits must not overflow.
// The flags of a block are every, and first or last if it is that. What lane i
// comes to is put at out + 32*i when all is read.
//
//go:noescape
func kernel(in *byte, stride, blocks int, counter uint64, steps *[wide]uint32, first, every, last uint32, out *[wide * chainSize]byte)
