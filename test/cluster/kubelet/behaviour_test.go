package kubelet

import (
	"testing"
	"time"
)

func TestParseBehaviour(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		want        Behaviour
		err         string
	}{
		"healthy": {map[string]string{"someone.else/crash": "true"}, Behaviour{}, ""},
		"everything": {
			map[string]string{Crash: "3", NeverReady: "true", ReadyAfter: "3s", Linger: "1m", Log: "a", PrintEnv: "true"},
			Behaviour{Crashes: 3, NeverReady: true, ReadyAfter: 3 * time.Second, Linger: time.Minute, Log: "a\n", PrintEnv: true},
			"",
		},
		"always crashing":   {map[string]string{Crash: "true"}, Behaviour{Crashes: 1 << 30}, ""},
		"not crashing":      {map[string]string{Crash: "false"}, Behaviour{}, ""},
		"taken away again":  {map[string]string{NeverReady: "", Linger: ""}, Behaviour{}, ""},
		"not a truth value": {map[string]string{NeverReady: "often"}, Behaviour{}, `read annotation kubetest.toa.io/never-ready: strconv.ParseBool: parsing "often": invalid syntax`},
		"not a duration":    {map[string]string{Linger: "5"}, Behaviour{}, `read annotation kubetest.toa.io/linger: time: missing unit in duration "5"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseBehaviour(c.annotations)
			if message(err) != c.err || err == nil && got != c.want {
				t.Errorf("parseBehaviour: got %+v, %v, want %+v, %s", got, err, c.want, c.err)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
