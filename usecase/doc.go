package usecase
