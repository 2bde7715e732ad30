package kubelet

import (
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestLogsAreThoseOfThePodThatIsThere(t *testing.T) {
	var l logs
	first := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "1"}}
	second := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "2"}}
	l.start(first, "c", "one\n")
	l.start(first, "c", "a\nb\nc\n")
	get(t, &l, "", http.StatusOK, "a\nb\nc\n")
	get(t, &l, "?tailLines=2", http.StatusOK, "b\nc\n")
	get(t, &l, "?tailLines=9", http.StatusOK, "a\nb\nc\n")
	get(t, &l, "?tailLines=0", http.StatusOK, "")
	get(t, &l, "?previous=true", http.StatusOK, "one\n")

	l.start(second, "c", "two\n")
	l.drop(first) // says nothing of the second
	get(t, &l, "", http.StatusOK, "two\n")
	get(t, &l, "?previous=true", http.StatusBadRequest, "previous terminated container \"n/p/c\" not found\n")
	l.drop(second)
	get(t, &l, "", http.StatusBadRequest, "container \"n/p/c\" is waiting to start\n")
}

func get(t *testing.T, l *logs, query string, status int, body string) {
	t.Helper()
	answer := httptest.NewRecorder()
	l.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/containerLogs/n/p/c"+query, http.NoBody))
	if answer.Code != status || answer.Body.String() != body {
		t.Errorf("logs%s: got %d %q, want %d %q", query, answer.Code, answer.Body, status, body)
	}
}
