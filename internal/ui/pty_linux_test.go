package ui

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"toa.io/toa/orchestrator"
)

// openPTY makes a real terminal: what is written to tty is read from control.
func openPTY(t *testing.T) (control, tty *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { control.Close() })
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("unlock pseudo terminal: %v", err)
	}
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skipf("name pseudo terminal: %v", err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("open pseudo terminal: %v", err)
	}
	t.Cleanup(func() { tty.Close() })
	return control, tty
}

func TestNewOnATerminal(t *testing.T) {
	_, tty := openPTY(t)
	for _, tt := range []struct {
		name, mode string
		env        map[string]string
		live       bool
	}{
		{"auto", "auto", nil, true},
		{"dumb", "auto", map[string]string{"TERM": "dumb"}, false},
		{"CI", "auto", map[string]string{"CI": "true"}, false},
		{"asked for in CI", "tty", map[string]string{"CI": "true"}, true},
		{"plain", "plain", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sink, err := New(tt.mode, io.Discard, tty, func(name string) string { return tt.env[name] })
			if err != nil {
				t.Fatal(err)
			}
			defer sink.Close()
			if _, isLive := sink.(*live); isLive != tt.live {
				t.Errorf("New(%q) = %T", tt.mode, sink)
			}
		})
	}
}

func TestSizeIsAskedEachTime(t *testing.T) {
	_, tty := openPTY(t)
	size := sizeOf(tty)
	for _, want := range [][2]int{{120, 40}, {50, 10}} {
		window := &unix.Winsize{Col: uint16(want[0]), Row: uint16(want[1])}
		if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, window); err != nil {
			t.Fatal(err)
		}
		if width, height := size(); [2]int{width, height} != want {
			t.Errorf("size = %d×%d, want %v", width, height, want)
		}
	}
	tty.Close()
	if width, height := size(); width != 80 || height != 24 {
		t.Errorf("size of a closed terminal = %d×%d, want 80×24", width, height)
	}
}

// A person at a terminal gets the summary, a script at stdout the references.
func TestReferencesOnlyForScripts(t *testing.T) {
	for _, toTerminal := range []bool{true, false} {
		control, tty := openPTY(t)
		var script strings.Builder
		stdout := io.Writer(&script)
		if toTerminal {
			stdout = tty
		}
		shown := make(chan string)
		go func() {
			text, _ := io.ReadAll(control) // ends with an error when tty is closed
			shown <- string(text)
		}()
		sink, err := New("tty", stdout, tty, func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range goodRun(t) {
			sink.Observe(event)
		}
		sink.Observe(orchestrator.NoticeEvent{Text: "too late"})
		if err := sink.Close(); err != nil {
			t.Error(err)
		}
		tty.Close()
		text := <-shown
		if !strings.Contains(text, "3 built, 1 cached") || strings.Contains(text, "@sha256:") {
			t.Errorf("the terminal shows %q", text)
		}
		if got := strings.Count(script.String(), "@sha256:"); (got == 3) == toTerminal {
			t.Errorf("stdout a terminal: %v, references in the script's stdout: %d", toTerminal, got)
		}
	}
}
