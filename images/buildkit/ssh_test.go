package buildkit_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"toa.io/toa/images/buildkit"
	"toa.io/toa/internal/enginetest"
)

// An engine on another machine is reached through ssh, with whatever keys ssh
// itself takes, and one that does not let us in is told of.
func TestSSH(t *testing.T) {
	socket := strings.TrimPrefix(enginetest.BuildKit(t), "unix://")
	server := newSSHD(t)
	address := "ssh://" + server.user + "@" + server.address
	b := newPlainBench(t, address+socket)
	b.build(t, b.builder, scratch(t, goods(t)))

	server.forget(t)
	b = newPlainBench(t, address+socket)
	_, err := b.builder.Build(t.Context(), scratch(t, goods(t)), nil)
	var unreachable *buildkit.UnreachableError
	if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), address) || hint(err) == "" {
		t.Errorf("Build without the key: %v (hint %q), want an *UnreachableError", err, hint(err))
	}
}

// sshd is a real one, which lets one key in and has BuildKit's client.
type sshd struct{ dir, address, user string }

func newSSHD(t *testing.T) *sshd {
	t.Helper()
	program, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("no sshd on this machine, or no right to start it: install openssh-server")
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s := &sshd{dir: t.TempDir(), address: freeAddress(t), user: me.Username}
	for _, key := range []string{"host", "client"} {
		command(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(s.dir, key))
	}
	host, port, _ := net.SplitHostPort(s.address)
	files{
		"sshd_config": fmt.Sprintf("ListenAddress %s\nPort %s\nHostKey %s/host\nAuthorizedKeysFile %s/client.pub\nStrictModes no\nUsePAM no\n"+
			"PasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\nSetEnv PATH=%s:/usr/bin:/bin\n",
			host, port, s.dir, s.dir, filepath.Dir(enginetest.Binary(t, "buildctl"))),
		"ssh_config": fmt.Sprintf("IdentityFile %s/client\nIdentitiesOnly yes\nIdentityAgent none\nBatchMode yes\nUserKnownHostsFile %s/known\nGlobalKnownHostsFile none\n", s.dir, s.dir),
		"known":      fmt.Sprintf("[%s]:%s %s", host, port, read(t, s.dir, "host.pub")),
		"bin/ssh":    fmt.Sprintf("x:#!/bin/sh\nexec /usr/bin/ssh -F %s/ssh_config \"$@\"\n", s.dir),
	}.write(t, s.dir)
	t.Setenv("PATH", filepath.Join(s.dir, "bin")+":"+os.Getenv("PATH"))
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	s.start(t, program)
	return s
}

func (s *sshd) start(t *testing.T, program string) {
	t.Helper()
	var out bytes.Buffer
	child := exec.Command(program, "-D", "-e", "-f", filepath.Join(s.dir, "sshd_config"))
	child.Stdout, child.Stderr = &out, &out
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", out.String())
		}
	})
	deadline, ticker := time.Now().Add(time.Minute), time.NewTicker(20*time.Millisecond)
	defer ticker.Stop()
	for ; ; <-ticker.C {
		if conn, err := net.Dial("tcp", s.address); err == nil {
			_ = conn.Close()
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("sshd does not listen: %v", err)
		}
	}
}

// forget lets nobody in any more.
func (s *sshd) forget(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "client.pub"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}
