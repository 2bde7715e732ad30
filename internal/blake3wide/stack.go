package blake3wide

import "math/bits"

// stack has the roots of subtrees whose siblings are not known yet, the
// largest first. Two that belong together stay apart until more comes: they
// may be the children of the root.
type stack struct {
	// One for each bit of the number of chunks, of which 2^54 are the most that
	// there can be, and one more.
	chains [55 * chainSize]byte
	size   int
}

// push adds the subtree that begins at chunk number at.
func (s *stack) push(at uint64, c *chain) {
	s.merge(at)
	copy(s.chains[s.size*chainSize:], c[:])
	s.size++
}

// merge makes parents until there is one subtree for each bit of the number of chunks.
func (s *stack) merge(chunks uint64) {
	for s.size > bits.OnesCount64(chunks) {
		right := s.pop()
		both := s.parentWith(&right)
		c := both.chain()
		copy(s.chains[s.size*chainSize:], c[:])
		s.size++
	}
}

func (s *stack) pop() chain {
	s.size--
	return chain(s.chains[s.size*chainSize:])
}

// parentWith takes the last subtree away and makes it the left child of a parent.
func (s *stack) parentWith(right *chain) node {
	left := s.pop()
	return parentOf(append(left[:], right[:]...))
}
