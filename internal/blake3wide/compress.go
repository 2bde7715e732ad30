package blake3wide

import (
	"encoding/binary"
	"math/bits"
)

// Sizes in bytes.
const (
	blockSize = 64
	chunkSize = 1024
	chainSize = 32
)

// Flags of compressions.
const (
	chunkStart = 1 << iota
	chunkEnd
	parent
	root
)

// chain is a chaining value, what a chunk or a parent comes to, as it is in a
// parent's block and as it is printed.
type chain [chainSize]byte

// words is half a state.
type words [8]uint32

var iv = words{0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19}

// order says which word of the block is mixed in where, round by round.
var order = [7][16]uint8{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
	{3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1},
	{10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
	{12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4},
	{9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
	{11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
}

// node is a compression that is not done yet: the last one of a chunk or a
// parent, for it differs if this is the root.
type node struct {
	in            words
	block         [16]uint32
	counter       uint64
	length, flags uint32
}

// compress does it.
func (n *node) compress() words {
	in, block := &n.in, &n.block
	v := [16]uint32{
		in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7],
		iv[0], iv[1], iv[2], iv[3], uint32(n.counter), uint32(n.counter >> 32), n.length, n.flags,
	}
	for r := range order {
		o := &order[r]
		m := func(i int) uint32 { return block[o[i]&15] } // the mask spares a check of bounds
		v[0], v[4], v[8], v[12] = mix(v[0], v[4], v[8], v[12], m(0), m(1))
		v[1], v[5], v[9], v[13] = mix(v[1], v[5], v[9], v[13], m(2), m(3))
		v[2], v[6], v[10], v[14] = mix(v[2], v[6], v[10], v[14], m(4), m(5))
		v[3], v[7], v[11], v[15] = mix(v[3], v[7], v[11], v[15], m(6), m(7))
		v[0], v[5], v[10], v[15] = mix(v[0], v[5], v[10], v[15], m(8), m(9))
		v[1], v[6], v[11], v[12] = mix(v[1], v[6], v[11], v[12], m(10), m(11))
		v[2], v[7], v[8], v[13] = mix(v[2], v[7], v[8], v[13], m(12), m(13))
		v[3], v[4], v[9], v[14] = mix(v[3], v[4], v[9], v[14], m(14), m(15))
	}
	var out words
	for i := range out {
		out[i] = v[i] ^ v[i+8]
	}
	return out
}

func mix(a, b, c, d, x, y uint32) (uint32, uint32, uint32, uint32) {
	a += b + x
	d = bits.RotateLeft32(d^a, -16)
	c += d
	b = bits.RotateLeft32(b^c, -12)
	a += b + y
	d = bits.RotateLeft32(d^a, -8)
	c += d
	b = bits.RotateLeft32(b^c, -7)
	return a, b, c, d
}

func (n *node) chain() (c chain) {
	for i, word := range n.compress() {
		binary.LittleEndian.PutUint32(c[4*i:], word)
	}
	return c
}

// digest is what the node comes to as the root.
func (n *node) digest() chain {
	n.flags |= root
	n.counter = 0 // of the output, of which there is no more than this
	return n.chain()
}

// take sets the block, to the last bytes of the node or to as many as go in.
func (n *node) take(data []byte) {
	var block [blockSize]byte
	n.length = uint32(copy(block[:], data))
	for i := range n.block {
		n.block[i] = binary.LittleEndian.Uint32(block[4*i:])
	}
}

// chunkOf is chunk number counter, which has these bytes: up to chunkSize.
func chunkOf(data []byte, counter uint64) node {
	n := node{in: iv, counter: counter, flags: chunkStart}
	for n.take(data); len(data) > blockSize; n.take(data) {
		n.in, n.flags = n.compress(), 0
		data = data[blockSize:]
	}
	n.flags |= chunkEnd
	return n
}

// parentOf is the parent of two nodes, whose chaining values are the block.
func parentOf(block []byte) node {
	n := node{in: iv, flags: parent}
	n.take(block)
	return n
}
