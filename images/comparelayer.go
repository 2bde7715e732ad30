package images

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"toa.io/toa/orchestrator"
)

// compareLayers reads two layers side by side. Those that hold the same files
// in the same way, and yet are not the same, are packed otherwise.
func compareLayers(ctx context.Context, a, b content) (all []orchestrator.Difference, err error) {
	published, err := openLayer(ctx, a)
	if err != nil {
		return nil, err
	}
	defer published.close()
	made, err := openLayer(ctx, b)
	if err != nil {
		return nil, err
	}
	defer made.close()
	all, err = compareEntries(ctx, published, made)
	if err == nil && len(all) == 0 {
		all = append(all, orchestrator.Difference{What: "packed otherwise, with the same files"})
	}
	return all, err
}

// compareEntries pairs entries by path. In layers of the same order a pair is
// complete at once, and nothing is kept of it.
func compareEntries(ctx context.Context, published, made *layerReader) ([]orchestrator.Difference, error) {
	var all []orchestrator.Difference
	pair := func(was, is entry) {
		if what := was.against(is); what != "" {
			all = append(all, orchestrator.Difference{Path: was.path, What: what})
		}
	}
	alone, alsoAlone := map[string]entry{}, map[string]entry{}
	for more := true; more; {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		was, before, err := published.next()
		if err != nil {
			return nil, fmt.Errorf("read published layer: %w", err)
		}
		is, now, err := made.next()
		if err != nil {
			return nil, fmt.Errorf("read rebuilt layer: %w", err)
		}
		if before {
			alone[was.path] = was
		}
		if now {
			alsoAlone[is.path] = is
		}
		for _, at := range []string{was.path, is.path} {
			a, aOK := alone[at]
			b, bOK := alsoAlone[at]
			if aOK && bOK {
				pair(a, b)
				delete(alone, at)
				delete(alsoAlone, at)
			}
		}
		more = before || now
	}
	for at := range alone {
		all = append(all, orchestrator.Difference{Path: at, What: onlyPublished})
	}
	for at := range alsoAlone {
		all = append(all, orchestrator.Difference{Path: at, What: onlyRebuilt})
	}
	slices.SortFunc(all, func(a, b orchestrator.Difference) int { return strings.Compare(a.Path, b.Path) })
	return withoutParents(all), nil
}

// withoutParents leaves directories out that one image lacks with all that is in them.
func withoutParents(all []orchestrator.Difference) []orchestrator.Difference {
	var kept []orchestrator.Difference
	for i, d := range all {
		alone := d.What == onlyPublished || d.What == onlyRebuilt
		if alone && i+1 < len(all) && d.What == all[i+1].What && strings.HasPrefix(all[i+1].Path, strings.TrimSuffix(d.Path, "/")+"/") {
			continue
		}
		kept = append(kept, d)
	}
	return kept
}

// entry is what a layer says of one path.
type entry struct {
	path   string
	kind   byte
	mode   int64
	owner  [2]int
	time   time.Time
	size   int64
	link   string
	digest [sha256.Size]byte
	extras string
}

// against names what differs between two entries of a path.
func (e entry) against(other entry) string {
	if e.kind != other.kind {
		return "kind"
	}
	var what []string
	for _, one := range []struct {
		name    string
		differs bool
	}{
		{"content", e.size != other.size || e.digest != other.digest},
		{"link", e.link != other.link},
		{"mode", e.mode != other.mode},
		{"owner", e.owner != other.owner},
		{"time", !e.time.Equal(other.time)},
		{"attributes", e.extras != other.extras},
	} {
		if one.differs {
			what = append(what, one.name)
		}
	}
	return strings.Join(what, ", ")
}

// layerReader reads the entries of a layer.
type layerReader struct {
	archive *tar.Reader
	rest    io.Reader // what is decompressed: it is read to its end, so that it is verified
	closers []func() error
	ended   bool
}

func openLayer(ctx context.Context, c content) (*layerReader, error) {
	body, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	l := &layerReader{closers: []func() error{body.Close}}
	if l.rest, err = l.decompress(body); err != nil {
		l.close()
		return nil, err
	}
	l.archive = tar.NewReader(l.rest)
	return l, nil
}

// decompress tells by its first bytes how a layer is compressed, if at all.
func (l *layerReader) decompress(body io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(body, 64<<10)
	magic, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(buffered)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		reader, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(128<<20))
		if err != nil {
			return nil, err
		}
		l.closers = append(l.closers, func() error { reader.Close(); return nil })
		return reader, nil
	default:
		return buffered, nil
	}
}

func (l *layerReader) close() {
	for _, one := range slices.Backward(l.closers) {
		_ = one()
	}
}

// next is false once there is no entry any more.
func (l *layerReader) next() (entry, bool, error) {
	if l.ended {
		return entry{}, false, nil
	}
	header, err := l.archive.Next()
	if errors.Is(err, io.EOF) {
		l.ended = true
		_, err = io.Copy(io.Discard, l.rest)
		return entry{}, false, err
	}
	if err != nil {
		return entry{}, false, err
	}
	one := entry{
		path: path.Join("/", header.Name), //nolint:gosec // a name to compare by; nothing is written
		kind: header.Typeflag, mode: header.Mode, owner: [2]int{header.Uid, header.Gid},
		time: header.ModTime, size: header.Size, link: header.Linkname, extras: extras(header),
	}
	sum := sha256.New()
	_, err = io.Copy(sum, l.archive)
	sum.Sum(one.digest[:0])
	return one, err == nil, err
}

// extras are names of the owner, device numbers and extended attributes, as one
// text to compare. Records that only say again what the header says are left out.
func extras(h *tar.Header) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %d %d", h.Uname, h.Gname, h.Devmajor, h.Devminor)
	for _, name := range slices.Sorted(maps.Keys(h.PAXRecords)) {
		if strings.HasPrefix(name, "SCHILY.xattr.") {
			fmt.Fprintf(&b, " %q=%q", name, h.PAXRecords[name])
		}
	}
	return b.String()
}
