package libraries

import (
	"context"

	"gorm.io/gorm"

	"github.com/rondo-go/rondo"
)

type account struct{ ID, Balance int }

// richest returns the accounts that have the most.
func richest(ctx context.Context, db *gorm.DB, n int) ([]account, error) {
	return rondo.Offload(ctx, func(ctx context.Context) (list []account, err error) {
		err = db.WithContext(ctx).Order("balance desc").Limit(n).Find(&list).Error
		return list, err
	})
}
