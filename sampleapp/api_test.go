package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/sampleapp/adapters"
	"github.com/tidings-go/tidings/sampleapp/app"
	"github.com/tidings-go/tidings/sampleapp/ports"
)

// api is the HTTP API of a running app.
type api struct {
	t   *testing.T
	url string
}

func (a api) call(method, path, body string) (int, string) {
	a.t.Helper()
	request, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	require.NoError(a.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(a.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(a.t, err)
	return response.StatusCode, strings.TrimSpace(string(text))
}

const (
	tourBody = `{"day": "2026-03-02", "driver": "Frances", "stops": [
		{"name": "Ada", "email": "ada@example.com", "address": {"street": "Ada Street 1", "zip": "10115", "city": "Berlin"}},
		{"name": "Grace", "email": "grace@example.com", "address": {"street": "Grace Street 2", "zip": "20095", "city": "Hamburg"}}]}`

	addressBody = `{"street": "Far Street 3", "zip": "80331", "city": "Munich"}`
)

func TestTheAPI(t *testing.T) {
	t.Setenv(ports.AddrVariable, "127.0.0.1:0")
	k := kerneltest.New(t, app.Module, app.Office, adapters.Module, ports.Module, kerneltest.Replace[app.Mailer](&outbox{}))
	a := api{t: t, url: "http://" + kerneltest.Get[*ports.Server](k).Addr()}

	status, body := a.call("GET", "/board", "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "[]", body)

	status, body = a.call("POST", "/tours", tourBody)
	require.Equal(t, http.StatusCreated, status, body)
	var planned app.Planned
	require.NoError(t, json.Unmarshal([]byte(body), &planned))
	ada, grace := "/stops/"+planned.Stops[0].String(), "/stops/"+planned.Stops[1].String()

	for _, step := range []struct {
		path, body string
		status     int
		answer     string
	}{
		{ada + "/move", `{"street": "Far Street 3", "zip": "80331", "city": "Munich", "note": "two\nlines"}`, 422, `{"error":"the note holds what cannot be printed"}`},
		{ada + "/move", strings.Replace(addressBody, "}", `, "note": "ring twice"}`, 1), 200, `{"fee_cents":600}`},
		{ada + "/move", addressBody, 409, `{"error":"the stop of Ada is at Far Street 3, 80331 Munich already"}`},
		{ada + "/swap", `{"with": "` + planned.Stops[1].String() + `"}`, 200, `{"fee_cents":1200}`},
		{ada + "/swap", `{"with": "` + planned.Stops[0].String() + `"}`, 422, `{"error":"a swap needs two stops"}`},
		{ada + "/complete", "", 200, `{"price_cents":1690}`},
		{ada + "/complete", "", 409, `{"error":"the parcel of Ada is delivered already"}`},
		{grace + "/move", `{"street": "", "zip": "10115", "city": "Berlin"}`, 422, `{"error":"the street of an address is needed"}`},
		{grace + "/move", `{"street": `, 400, `{"error":"malformed body: unexpected EOF"}`},
		{grace + "/move", ``, 400, `{"error":"malformed body: EOF"}`},
		{grace + "/move", addressBody + addressBody, 400, `{"error":"malformed body: more than one value"}`},
		{grace + "/move", `{"planet": 3}`, 400, `{"error":"malformed body: json: unknown field \"planet\""}`},
		{grace + "/move", `{"street": "` + strings.Repeat("x", 2<<20) + `"}`, 413, `{"error":"the body is too large"}`},
		{"/stops/nobody/move", addressBody, 404, `{"error":"stop nobody does not exist"}`},
		{"/stops/" + uuid.Nil.String() + "/complete", "", 404, `{"error":"stop 00000000-0000-0000-0000-000000000000 does not exist"}`},
		{"/tours", `{"day": "2026-03-02", "driver": "Frances"}`, 422, `{"error":"a tour needs a stop"}`},
		{"/tours", `{"day": "soon"}`, 422, `{"error":"\"soon\" is no day: write it as 2006-01-02"}`},
		{"/tours", `{"day": "2026-03-02", "driver": "F", "stops": [{}]}`, 422, `{"error":"stop 1: the name of a customer is needed"}`},
		{"/days/2026-03-02/close", "", 204, ""},
		{"/days/2026-03-02/close", "", 409, `{"error":"2026-03-02 is closed already"}`},
		{"/days/soon/close", "", 422, `{"error":"\"soon\" is no day: write it as 2006-01-02"}`},
	} {
		status, body := a.call("POST", step.path, step.body)
		require.Equal(t, step.status, status, "%s: %s", step.path, body)
		require.Equal(t, step.answer, body, step.path)
	}

	k.Drain()
	status, body = a.call("GET", "/board?day=2026-03-02", "")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `[{"tour": "`+planned.Tour.String()+`", "day": "2026-03-02", "driver": "Frances",
		"stops": 2, "moves": 3, "completed": 1}]`, body)
	require.Equal(t, 3, count(t, k, `SELECT count(*) FROM notification`))
	require.Equal(t, 1, count(t, k, `SELECT count(*) FROM invoice`))
	require.Equal(t, 1, count(t, k, `SELECT count(*) FROM day_report`))
}
