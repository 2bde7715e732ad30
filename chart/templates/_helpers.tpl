{{/* toa.variables: environment variables of a container; the dot is a list of {name, value} or {name, secret}. */}}
{{- define "toa.variables" -}}
{{- range . }}
- name: {{ .name | quote }}
  {{- with .secret }}
  valueFrom:
    secretKeyRef:
      name: {{ .name | quote }}
      key: {{ .key | quote }}
      {{- if .optional }}
      optional: true
      {{- end }}
  {{- else }}
  value: {{ .value | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{/* toa.resources: requests and limits of a container; the dot is {cpu, memory}, each [request, limit]. */}}
{{- define "toa.resources" -}}
requests:
  {{- range $resource, $pair := . }}
  {{ $resource | quote }}: {{ index $pair 0 | quote }}
  {{- end }}
limits:
  {{- range $resource, $pair := . }}
  {{ $resource | quote }}: {{ index $pair 1 | quote }}
  {{- end }}
{{- end }}

{{/* toa.ports: what a container listens on, each port once; the dot is a composition. */}}
{{- define "toa.ports" -}}
{{- $ports := list }}
{{- range .backends }}
{{- $ports = append $ports (int64 .port) }}
{{- end }}
{{- with .probe }}
{{- $ports = append $ports (int64 .port) }}
{{- end }}
{{- range $ports | uniq }}
- containerPort: {{ . }}
{{- end }}
{{- end }}

{{/* toa.probes: a process has five minutes to start and ten seconds to answer again; the dot is {path, port, delay}. */}}
{{- define "toa.probes" -}}
startupProbe:
  {{- include "toa.endpoint" . | nindent 2 }}
  {{- with .delay }}
  initialDelaySeconds: {{ int64 . }}
  {{- end }}
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 150
readinessProbe:
  {{- include "toa.endpoint" . | nindent 2 }}
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 5
{{- end }}

{{- define "toa.endpoint" -}}
httpGet:
  path: {{ .path | quote }}
  port: {{ int64 .port }}
{{- end }}
