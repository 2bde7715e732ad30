//go:build powercut

package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// ext4Shutdown is EXT4_IOC_SHUTDOWN, and noFlush its EXT4_GOING_FLAGS_NOLOGFLUSH:
	// from then on nothing gets to the disk, what waits for it in the journal or in
	// memory is lost (fs/ext4/ext4.h of Linux).
	ext4Shutdown = 0x8004587d
	noFlush      = 2
	diskSize     = 128 << 20
)

// disk is a file system of its own, whose power can be cut.
type disk struct{ image, dir, options string }

func newDisk(t *testing.T, options string) *disk {
	t.Helper()
	at := t.TempDir()
	d := &disk{filepath.Join(at, "image"), filepath.Join(at, "mounted"), options}
	if err := errors.Join(os.WriteFile(d.image, nil, 0o600), os.Truncate(d.image, diskSize), os.Mkdir(d.dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	must(t, "mkfs.ext4", "-q", "-F", d.image)
	d.mount(t)
	t.Cleanup(func() { _ = exec.Command("umount", d.dir).Run() })
	return d
}

func must(t *testing.T, name string, args ...string) {
	t.Helper()
	if said, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, said)
	}
}

func (d *disk) mount(t *testing.T) {
	t.Helper()
	must(t, "mount", "-o", "loop,"+d.options, d.image, d.dir)
}

// cut takes the power from the disk. Who writes to it gets errors.
func (d *disk) cut() error {
	dir, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.IoctlSetPointerInt(int(dir.Fd()), ext4Shutdown, noFlush), dir.Close())
}

// start gives it the power back: what was in the journal is done, the rest is gone.
func (d *disk) start(t *testing.T) {
	t.Helper()
	must(t, "umount", d.dir)
	d.mount(t)
}

// Whenever the power goes, the next run needs no help, what it takes from the
// index is in the registry, and what an ended run has recorded is still recorded.
func TestPowerCuts(t *testing.T) {
	for _, options := range []string{"data=ordered", "data=writeback,commit=1", "data=ordered,commit=1000", "data=journal"} {
		t.Run(options, func(t *testing.T) {
			cuts := wanted(t, "TOA_TEST_POWERCUTS", 200) / 4
			t.Run("registry", func(t *testing.T) { cutPowerOfPushes(t, newDisk(t, options), cuts/2) })
			t.Run("layout", func(t *testing.T) { cutPowerOfBuilds(t, newDisk(t, options), cuts/2) })
		})
	}
}

func cutPowerOfPushes(t *testing.T, d *disk, cuts int) {
	s := newCrashSite(t)
	s.home = d.dir
	usual := s.settle(t)
	for n := range cuts {
		s.edit(t)
		ended := cutDuring(t, d, usual, func() (*exec.Cmd, *bytes.Buffer) { cmd, _, log := s.push(t); return cmd, log })
		before := len(s.proxy.Requests(""))
		s.settle(t)
		if asked := len(s.proxy.Requests("")) - before; ended && asked > 0 {
			t.Errorf("cut %d: what an ended run had recorded was lost: %d requests", n, asked)
		}
		if n%5 == 0 { // the next cut finds a cache that is being made
			forget(t, d)
		}
	}
}

// cutDuring cuts the power at a random moment of a run or soon after it, and
// tells whether the run had ended well before.
func cutDuring(t *testing.T, d *disk, usual time.Duration, start func() (*exec.Cmd, *bytes.Buffer)) (ended bool) {
	t.Helper()
	cmd, log := start()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var err error
	select {
	case <-time.After(rand.N(usual * 3 / 2)):
		err = errors.Join(d.cut(), cmd.Process.Kill())
		<-done
	case failed := <-done:
		ended = true
		if failed != nil {
			t.Fatalf("%v\n%s", failed, log)
		}
		err = d.cut()
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	d.start(t)
	return ended
}

func forget(t *testing.T, d *disk) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(d.dir, "cache")); err != nil {
		t.Fatal(err)
	}
}

var onDisk = regexp.MustCompile(`(?m)^composition/\S+ (\S+:\w+@sha256:\w{64})$`)

func cutPowerOfBuilds(t *testing.T, d *disk, cuts int) {
	s := newCrashSite(t)
	s.home = d.dir
	args := []string{"graph", "build", "--release", "none", "-C", filepath.Join(s.dir, "shop")}
	build := func() (string, time.Duration) {
		began := time.Now()
		cmd, out, log := process(t, d.dir, args...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("build after a cut: %v\n%s", err, log)
		}
		return out.String(), time.Since(began)
	}
	_, usual := build()
	for n := range cuts {
		s.edit(t)
		cutDuring(t, d, usual, func() (*exec.Cmd, *bytes.Buffer) {
			cmd, _, log := process(t, d.dir, args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			return cmd, log
		})
		out, _ := build()
		found := onDisk.FindAllStringSubmatch(out, -1)
		if len(found) != 2 {
			t.Fatalf("cut %d: the build after it tells of %d images:\n%s", n, len(found), out)
		}
		for _, one := range found {
			wholeArchive(t, d, one[1])
		}
		if n%5 == 0 {
			forget(t, d)
		}
	}
}

// wholeArchive exports an image, and compares all of its content with what it is named.
func wholeArchive(t *testing.T, d *disk, reference string) {
	t.Helper()
	cmd, out, log := process(t, d.dir, "images", "export", reference)
	if err := cmd.Run(); err != nil {
		t.Fatalf("export %s: %v\n%s", reference, err, log)
	}
	archive, blobs := tar.NewReader(out), 0
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, archive); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(header.Name, "blobs/sha256/") || header.Typeflag == tar.TypeDir {
			continue
		}
		blobs++
		if got := hex.EncodeToString(sum.Sum(nil)); got != path.Base(header.Name) {
			t.Errorf("%s: %s holds %s", reference, header.Name, got)
		}
	}
	if blobs < 3 {
		t.Errorf("%s has %d blobs, expected a manifest, a config and layers", reference, blobs)
	}
}
