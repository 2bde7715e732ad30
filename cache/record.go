package cache

import (
	"encoding/binary"
	"errors"
)

// errRecord says that stored bytes are not what was written. The record is
// then treated as absent.
var errRecord = errors.New("damaged record")

const checksumSize = 16

// buckets are all of ours, whose rows are sealed as here. What other versions
// keep in others is theirs.
var buckets = map[string]bool{
	string(publishedBucket): true, string(latestBucket): true, string(inputsBucket): true, string(durationsBucket): true,
	string(lostBucket): true, string(treesBucket): true, string(filesBucket): true, string(notesBucket): true,
	string(standingBucket): true,
}

// spoiled tells whether a row is ours and not what was written.
func spoiled(bucket, name, value []byte) bool {
	_, err := unseal(name, value)
	return err != nil && buckets[string(bucket)]
}

// seal puts a checksum in front of a record. It covers the key, so that a
// record that strayed to another key is noticed too.
func seal(key, payload []byte) []byte {
	sum := checksum(key, payload)
	return append(sum[:checksumSize:checksumSize], payload...)
}

// unseal returns the payload of a record whose checksum is right.
func unseal(key, record []byte) ([]byte, error) {
	if len(record) < checksumSize {
		return nil, errRecord
	}
	sum := checksum(key, record[checksumSize:])
	if string(sum[:checksumSize]) != string(record[:checksumSize]) {
		return nil, errRecord
	}
	return record[checksumSize:], nil
}

func checksum(key, payload []byte) Key {
	h := hashers.Get().(*contentHasher)
	defer hashers.Put(h)
	h.reset(int64(len(payload)))
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(key)))
	_, _ = h.Write(n[:])
	_, _ = h.Write(key)
	_, _ = h.Write(payload)
	return h.sum()
}

// packer appends values in a compact form; unpacker reads them back.
type packer struct{ buf []byte }

func (p *packer) uint(n uint64)   { p.buf = binary.AppendUvarint(p.buf, n) }
func (p *packer) int(n int64)     { p.buf = binary.LittleEndian.AppendUint64(p.buf, uint64(n)) }
func (p *packer) key(k Key)       { p.buf = append(p.buf, k[:]...) }
func (p *packer) bytes(b []byte)  { p.uint(uint64(len(b))); p.buf = append(p.buf, b...) }
func (p *packer) string(s string) { p.uint(uint64(len(s))); p.buf = append(p.buf, s...) }

// unpacker reads what packer wrote. After the first value that is not there,
// bad is set and everything reads as zero.
type unpacker struct {
	buf []byte
	bad bool
}

func (u *unpacker) take(n uint64) []byte {
	if u.bad || n > uint64(len(u.buf)) {
		u.bad = true
		return nil
	}
	out := u.buf[:n:n]
	u.buf = u.buf[n:]
	return out
}

func (u *unpacker) uint() uint64 {
	n, size := binary.Uvarint(u.buf)
	if size <= 0 {
		u.bad = true
		return 0
	}
	u.buf = u.buf[size:]
	return n
}

func (u *unpacker) int() int64 {
	b := u.take(8)
	if b == nil {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b))
}

func (u *unpacker) key() (k Key) {
	copy(k[:], u.take(uint64(len(k))))
	return k
}

func (u *unpacker) bytes() []byte  { return u.take(u.uint()) }
func (u *unpacker) string() string { return string(u.bytes()) }

// stamp writes a stamp in few bytes: files of a directory were mostly made in
// one go, so times and inodes are written as distances from the entry before.
func (p *packer) stamp(s, before stamp) {
	p.distance(s.size)
	p.distance(s.mtime - before.mtime)
	p.distance(s.ctime - s.mtime)
	p.distance(int64(s.inode - before.inode))
	p.uint(uint64(s.mode))
}

func (u *unpacker) stamp(before stamp) stamp {
	s := stamp{size: u.distance(), mtime: before.mtime + u.distance()}
	s.ctime = s.mtime + u.distance()
	s.inode = before.inode + uint64(u.distance())
	s.mode = uint32(u.uint())
	return s
}

func (p *packer) distance(n int64) { p.buf = binary.AppendVarint(p.buf, n) }

func (u *unpacker) distance() int64 {
	n, size := binary.Varint(u.buf)
	if size <= 0 {
		u.bad = true
		return 0
	}
	u.buf = u.buf[size:]
	return n
}
