package domain_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/sampleapp/domain"
)

func address(t *testing.T, street, zip string) domain.Address {
	t.Helper()
	a, err := domain.NewAddress(street, zip, "Berlin")
	require.NoError(t, err)
	return a
}

// tour returns a tour with one stop.
func tour(t *testing.T) (*domain.Tour, *domain.Stop) {
	t.Helper()
	day, err := domain.NewDay("2026-03-02")
	require.NoError(t, err)
	tour, err := domain.NewTour(day, "Frances")
	require.NoError(t, err)
	ada, err := domain.NewCustomer("Ada", "ada@example.com")
	require.NoError(t, err)
	stop, err := tour.Add(ada, address(t, "Main Street 1", "10115"))
	require.NoError(t, err)
	return tour, stop
}

func requireKind(t *testing.T, kind domain.Kind, err error) {
	t.Helper()
	var e *domain.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, kind, e.Kind)
}

func TestConstructorsRefuseWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func() error{
		"street missing":      func() error { _, err := domain.NewAddress(" ", "10115", "Berlin"); return err },
		"street unprintable":  func() error { _, err := domain.NewAddress("Main\x00 1", "10115", "Berlin"); return err },
		"street not UTF-8":    func() error { _, err := domain.NewAddress("Main\xff 1", "10115", "Berlin"); return err },
		"street too long":     func() error { _, err := domain.NewAddress(strings.Repeat("x", 201), "10115", "Berlin"); return err },
		"zip short":           func() error { _, err := domain.NewAddress("Main 1", "1011", "Berlin"); return err },
		"city missing":        func() error { _, err := domain.NewAddress("Main 1", "10115", ""); return err },
		"name missing":        func() error { _, err := domain.NewCustomer("", "ada@example.com"); return err },
		"mail malformed":      func() error { _, err := domain.NewCustomer("Ada", "example.com"); return err },
		"mail with a name":    func() error { _, err := domain.NewCustomer("Ada", "Ada <ada@example.com>"); return err },
		"day malformed":       func() error { _, err := domain.NewDay("2026-02-30"); return err },
		"tour without day":    func() error { _, err := domain.NewTour(domain.Day{}, "Frances"); return err },
		"money negative":      func() error { _, err := domain.NewMoney(-1); return err },
		"invoice of nothing":  func() error { _, err := domain.NewInvoice(uuid.New(), domain.Money{}); return err },
		"restored without it": func() error { _, err := domain.RestoreStop(domain.StoredStop{Name: "Ada"}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireKind(t, domain.Invalid, make())
		})
	}
}

func TestATourNeedsAStopAndHoldsAVan(t *testing.T) {
	t.Parallel()
	tour, stop := tour(t)
	require.NoError(t, tour.CheckPlanned())
	for range domain.MaxStops - 1 {
		_, err := tour.Add(stop.Customer(), stop.Address())
		require.NoError(t, err)
	}
	_, err := tour.Add(stop.Customer(), stop.Address())
	requireKind(t, domain.Invalid, err)

	empty, err := domain.NewTour(tour.Day(), tour.Driver())
	require.NoError(t, err)
	requireKind(t, domain.Invalid, empty.CheckPlanned())
}

func TestAMoveCostsMoreTheFartherItIs(t *testing.T) {
	t.Parallel()
	from := address(t, "Main Street 1", "10115")
	for zip, cents := range map[string]int64{"10999": 0, "14050": 150, "80331": 600} {
		fee, err := domain.MoveFee(from, address(t, "Other Street 2", zip))
		require.NoError(t, err)
		require.Equal(t, cents, fee.Cents(), zip)
	}
	_, err := domain.MoveFee(from, domain.Address{})
	requireKind(t, domain.Invalid, err)
}

func TestAStopIsMovedUntilItIsCompleted(t *testing.T) {
	t.Parallel()
	_, stop := tour(t)
	fee, err := domain.NewMoney(150)
	require.NoError(t, err)
	there := address(t, "Other Street 2", "14050")
	requireKind(t, domain.Conflict, stop.Move(stop.Address(), fee))
	require.NoError(t, stop.Move(there, fee))
	require.Equal(t, there, stop.Address())
	require.NoError(t, stop.Complete())
	require.Equal(t, "6.40", stop.Price().String())
	requireKind(t, domain.Conflict, stop.Complete())
	requireKind(t, domain.Conflict, stop.Move(address(t, "Third Street 3", "10115"), fee))
}

func TestAStopComesBackAsItWasStored(t *testing.T) {
	t.Parallel()
	_, stop := tour(t)
	require.NoError(t, stop.Complete())
	again, err := domain.RestoreStop(stop.Stored())
	require.NoError(t, err)
	require.Equal(t, stop, again)
}

func TestAnErrorSaysWhereItIs(t *testing.T) {
	t.Parallel()
	err := domain.In("stop 1", domain.ErrNoAddress)
	requireKind(t, domain.Invalid, err)
	require.EqualError(t, err, "stop 1: "+domain.ErrNoAddress.Error())
	require.NoError(t, domain.In("stop 1", nil))
}
