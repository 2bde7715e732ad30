package main

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestServeLogsEachRequestAndEndsWithItsInput(t *testing.T) {
	const delay = time.Millisecond
	until, end := io.Pipe()
	log, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(t.Context(), until, out, delay) }()

	lines := bufio.NewScanner(log)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	address := lines.Text()
	go func() { // a line is written before the answer is complete
		for _, path := range []string{"/v2/", "/v2/none/manifests/1"} {
			if response, err := http.Get("http://" + address + path); err == nil {
				response.Body.Close()
			}
		}
	}()
	for _, want := range []string{"GET /v2/ 200 ", "GET /v2/none/manifests/1 404 "} {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), want) {
			t.Errorf("log says %q, want %q", lines.Text(), want)
		}
	}
	end.Close()
	if err := <-ended; err != nil {
		t.Errorf("serve = %v after its input ended", err)
	}
}
