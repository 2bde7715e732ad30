{{/*
toa.deployment: the Deployment of one unit. The dot holds

  values     of the chart
  unit       a composition, a service or mono
  name       of the Deployment
  container  the name of its container
  role, of   the pod label that selects the pods: nothing that a release may change
  labels     names of more pod labels, by which Services find the pods
*/}}
{{- define "toa.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name | quote }}
spec:
  replicas: {{ hasKey .unit "replicas" | ternary .unit.replicas 2 | int64 }}
  progressDeadlineSeconds: 900
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 100%
  {{- /* A selector cannot be changed later: it holds nothing that may. */}}
  selector:
    matchLabels:
      {{ .role }}: {{ .of | quote }}
  template:
    metadata:
      labels:
        {{ .role }}: {{ .of | quote }}
        {{- range .labels }}
        {{ . | quote }}: "1"
        {{- end }}
    spec:
      automountServiceAccountToken: {{ .values.security.token | default false }}
      {{- with .values.security.pod }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      terminationGracePeriodSeconds: 45
      {{- with .values.credentials }}
      imagePullSecrets:
        - name: {{ . | quote }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{ .role }}: {{ .of | quote }}
          matchLabelKeys:
            - pod-template-hash
      containers:
        - name: {{ .container | quote }}
          image: {{ .unit.image | quote }}
          {{- with .values.security.container }}
          securityContext:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with .unit.resources }}
          resources:
            {{- include "toa.resources" . | nindent 12 }}
          {{- end }}
          {{- if or .unit.services .unit.variables }}
          {{- /* Kubernetes reads "$(NAME)" in a value as a reference, and "$$" as "$": doubled, every "$" arrives. */}}
          env:
            {{- with .unit.services }}
            - name: TOA_SERVICES
              value: {{ join " " . | replace "$" "$$" | quote }}
            {{- end }}
            {{- range .unit.variables }}
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
              value: {{ .value | replace "$" "$$" | quote }}
              {{- end }}
            {{- end }}
          {{- end }}
          {{- with include "toa.ports" .unit }}
          ports:
            {{- trim . | nindent 12 }}
          {{- end }}
          {{- with .unit.probe }}
          {{- include "toa.probes" . | nindent 10 }}
          {{- end }}
          volumeMounts:
            {{- range .unit.mounts }}
            - name: {{ .name | quote }}
              mountPath: {{ .path | quote }}
            {{- end }}
            - name: components
              mountPath: {{ .values.map.directory | quote }}
              readOnly: true
          {{- /* The process stays while others learn that its address is gone. */}}
          lifecycle:
            preStop:
              exec:
                command: ["sleep", "5"]
      volumes:
        {{- range .unit.mounts }}
        - name: {{ .name | quote }}
          persistentVolumeClaim:
            claimName: {{ .claim | quote }}
        {{- end }}
        - name: components
          configMap:
            name: components
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

{{/* toa.ports: what a container listens on, each port once; the dot is a unit. */}}
{{- define "toa.ports" -}}
{{- $ports := list }}
{{- range .backends }}
{{- $ports = append $ports (int64 .port) }}
{{- end }}
{{- with .port }}
{{- $ports = append $ports (int64 .) }}
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
