{{/*
toa.service: the Service of an extension's service or of mono. The dot is
{name, role, of, annotations, backends}: pods with the label role: of answer on
the port of each backend.
*/}}
{{- define "toa.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .name | quote }}
  {{- with .annotations }}
  {{- include "toa.annotations" . | nindent 2 }}
  {{- end }}
spec:
  type: ClusterIP
  selector:
    {{ .role | quote }}: {{ .of | quote }}
  ports:
    {{- $ports := list }}
    {{- range .backends }}
    {{- $ports = append $ports (int64 .port) }}
    {{- end }}
    {{- range $ports | uniq }}
    - name: port-{{ . }}
      port: {{ . }}
      targetPort: {{ . }}
    {{- end }}
{{- end }}

{{/*
toa.ingress: the Ingress that leads to the Service of the same name. The dot is
{name, ingress, backends}, each backend {path, port}.
*/}}
{{- define "toa.ingress" -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ .name | quote }}
  {{- with .ingress.annotations }}
  {{- include "toa.annotations" . | nindent 2 }}
  {{- end }}
spec:
  {{- with .ingress.class }}
  ingressClassName: {{ . | quote }}
  {{- end }}
  rules:
    {{- range .ingress.hosts }}
    - host: {{ . | quote }}
      {{- include "toa.paths" $ | nindent 6 }}
    {{- end }}
    {{- /* Requests for any other host. */}}
    {{- if .ingress.default }}
    - {{ include "toa.paths" . | indent 6 | trim }}
    {{- end }}
{{- end }}

{{/* toa.paths: every path once; of two backends with one path, the first gets the requests. */}}
{{- define "toa.paths" -}}
{{- $name := .name -}}
{{- $seen := dict -}}
http:
  paths:
    {{- range .backends }}
    {{- $path := .path | default "/" }}
    {{- if not (hasKey $seen $path) }}
    {{- $_ := set $seen $path true }}
    - path: {{ $path | quote }}
      pathType: Prefix
      backend:
        service:
          name: {{ $name | quote }}
          port:
            number: {{ int64 .port }}
    {{- end }}
    {{- end }}
{{- end }}

{{- define "toa.annotations" -}}
annotations:
  {{- range $key, $value := . }}
  {{ $key | quote }}: {{ $value | quote }}
  {{- end }}
{{- end }}
