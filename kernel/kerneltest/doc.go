// Package kerneltest runs an app in a test: its modules on a fresh PostgreSQL
// database, started and stopped with the test.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
//	func TestMoveStop(t *testing.T) {
//		k := kerneltest.New(t, delivery.Module, kerneltest.Replace[delivery.Mailer](fake))
//		move := kerneltest.Get[usecase.Usecase[MoveStop, Moved]](k)
//		_, err := move.Execute(t.Context(), MoveStop{…})
//		require.NoError(t, err)
//		k.Drain()
//		require.Len(t, kerneltest.Emitted[StopMoved](k), 1)
//	}
//
// The order of synchronous listeners is shuffled at every emit, for apps must
// not build on it; the seed is logged where a test fails.
package kerneltest
