package cache

import "encoding/binary"

// Input is one labelled part of a key: a file and its content's digest, or a
// setting and its value. Labels are unique within a key.
type Input struct{ Label, Value string }

func packInputs(inputs []Input) []byte {
	size := binary.MaxVarintLen64
	for _, input := range inputs {
		size += len(input.Label) + len(input.Value) + 2*binary.MaxVarintLen64
	}
	p := packer{buf: make([]byte, 0, size)}
	p.uint(uint64(len(inputs)))
	for _, input := range inputs {
		p.string(input.Label)
		p.string(input.Value)
	}
	return p.buf
}

func unpackInputs(payload []byte) ([]Input, error) {
	u := unpacker{buf: payload}
	n := u.uint()
	inputs := make([]Input, 0, min(n, uint64(len(payload))/2))
	for ; n > 0 && !u.bad; n-- {
		inputs = append(inputs, Input{Label: u.string(), Value: u.string()})
	}
	if u.bad {
		return nil, ErrNotFound
	}
	return inputs, nil
}
